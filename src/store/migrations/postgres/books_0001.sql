-- What the loop's transactions write: the journal and the tables people query.

-- The one row every commit changes: who leads, and how far the journal goes.
create table ledger (
  one bigint primary key check (one = 1),
  epoch bigint not null,    -- of the newest leader
  commits bigint not null,  -- so far; a writer that missed one is not the only writer
  first bigint not null,    -- oldest sequence not trimmed
  last bigint not null,     -- newest sequence
  audits bigint not null    -- newest number in audit
);
insert into ledger (one, epoch, commits, first, last, audits) values (1, 0, 0, 1, 0, 0);

-- One row a commit, or a few: events first to last, in the bytes of store/event_codec.
create table journal (
  first bigint primary key,
  last bigint not null,
  events bytea not null
);

-- One row a job, folded from its events. Times are milliseconds since 1970, in UTC.
create table jobs (
  submit bigint primary key,  -- the journal's sequence of its submit
  id text collate "C" not null unique,
  name text collate "C" not null,
  user_name text collate "C" not null,
  queue text collate "C" not null,
  priority bigint not null,
  state text collate "C" not null,
  attempt bigint not null,
  failures bigint not null,
  max_retries bigint not null,
  cluster text collate "C" not null,
  submitted bigint not null,
  started bigint,
  finished bigint,
  why text collate "C" not null,
  payload text collate "C" not null,
  run_limit bigint not null,
  pods bigint not null,
  gpus bigint not null  -- thousandths
);
create index jobs_state on jobs (state, submit);
create index jobs_user on jobs (user_name, state, submit);
create index jobs_queue on jobs (queue, state, submit);
create index jobs_cluster on jobs (cluster, state, submit) where cluster <> '';
create index jobs_name on jobs (name, submit) where name <> '';
create index jobs_finished on jobs (finished) where finished is not null;
create index jobs_payload on jobs (payload) where payload <> '';

create table audit (
  number bigint primary key,
  at bigint not null,
  user_name text collate "C" not null,
  request text collate "C" not null,
  verb text collate "C" not null,
  object text collate "C" not null,
  detail text collate "C" not null
);
create index audit_at on audit (at);

-- Answers to submits that may be repeated.
create table submit_keys (
  user_name text collate "C" not null,
  key text collate "C" not null,
  request_hash text collate "C" not null,
  jobs bytea not null,
  expires bigint not null,
  primary key (user_name, key)
);
create index submit_keys_expires on submit_keys (expires);
