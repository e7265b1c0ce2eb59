-- What jobs run, of submits that brought it along: small, once by hash, written with the job.
create table small_payloads (
  hash text collate "C" primary key,
  touched bigint not null,  -- when it was last put
  bytes bytea not null
);
