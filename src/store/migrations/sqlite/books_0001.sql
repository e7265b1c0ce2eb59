-- What the loop's transactions write: the journal and the tables people query.

-- The one row every commit changes: who leads, and how far the journal goes.
create table ledger (
  one integer primary key check (one = 1),
  epoch integer not null,    -- of the newest leader
  commits integer not null,  -- so far; a writer that missed one is not the only writer
  first integer not null,    -- oldest sequence not trimmed
  last integer not null,     -- newest sequence
  audits integer not null    -- newest number in audit
);
insert into ledger (one, epoch, commits, first, last, audits) values (1, 0, 0, 1, 0, 0);

-- One row a commit, or a few: events first to last, in the bytes of store/event_codec.
create table journal (
  first integer primary key,
  last integer not null,
  events blob not null
);

-- One row a job, folded from its events. Times are milliseconds since 1970, in UTC.
create table jobs (
  submit integer primary key,  -- the journal's sequence of its submit
  id text not null unique,
  name text not null,
  user_name text not null,
  queue text not null,
  priority integer not null,
  state text not null,
  attempt integer not null,
  failures integer not null,
  max_retries integer not null,
  cluster text not null,
  submitted integer not null,
  started integer,
  finished integer,
  why text not null,
  payload text not null,
  run_limit integer not null,
  pods integer not null,
  gpus integer not null  -- thousandths
);
create index jobs_state on jobs (state, submit);
create index jobs_user on jobs (user_name, state, submit);
create index jobs_queue on jobs (queue, state, submit);
create index jobs_cluster on jobs (cluster, state, submit) where cluster <> '';
create index jobs_name on jobs (name) where name <> '';
create index jobs_finished on jobs (finished) where finished is not null;
create index jobs_payload on jobs (payload) where payload <> '';

create table audit (
  number integer primary key,
  at integer not null,
  user_name text not null,
  request text not null,
  verb text not null,
  object text not null,
  detail text not null
);
create index audit_at on audit (at);

-- Answers to submits that may be repeated.
create table submit_keys (
  user_name text not null,
  key text not null,
  request_hash text not null,
  jobs blob not null,
  expires integer not null,
  primary key (user_name, key)
) without rowid;
create index submit_keys_expires on submit_keys (expires);
