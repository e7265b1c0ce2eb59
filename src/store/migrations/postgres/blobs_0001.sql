-- What has writers of its own.

-- What jobs run, once by hash.
create table payloads (
  hash text collate "C" primary key,
  touched bigint not null,  -- when it was last put
  bytes bytea not null
);
create index payloads_touched on payloads (touched, hash);

create table snapshots (
  number bigint primary key,
  sequence bigint not null,  -- the newest entry of the journal that it holds
  complete bigint not null   -- 0 while it is being written
);
create table snapshot_chunks (
  snapshot bigint not null,
  number bigint not null,
  bytes bytea not null,
  primary key (snapshot, number)
);
