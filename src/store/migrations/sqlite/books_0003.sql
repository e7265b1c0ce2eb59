-- What jobs run, of submits that brought it along: small, once by hash, written with the job.
create table small_payloads (
  hash text primary key,
  touched integer not null,  -- when it was last put
  bytes blob not null
) without rowid;
