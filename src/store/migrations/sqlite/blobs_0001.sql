-- What has writers of its own.

-- What jobs run, once by hash.
create table payloads (
  hash text primary key,
  touched integer not null,  -- when it was last put
  bytes blob not null
);
create index payloads_touched on payloads (touched, hash);

create table snapshots (
  number integer primary key,
  sequence integer not null,  -- the newest entry of the journal that it holds
  complete integer not null   -- 0 while it is being written
);
create table snapshot_chunks (
  snapshot integer not null,
  number integer not null,
  bytes blob not null,
  primary key (snapshot, number)
);
