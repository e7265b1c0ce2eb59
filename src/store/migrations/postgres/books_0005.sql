-- The labels of jobs: in the row to be shown, beside it to be looked for, newest job first.
alter table jobs add column labels text collate "C" not null default '';  -- counted texts: key, value, ...
create table job_labels (
  label text collate "C" not null,  -- key=value
  job bigint not null references jobs (submit) on delete cascade,
  primary key (label, job)
);
create index job_labels_job on job_labels (job);
-- Where the newest attempt was placed.
alter table jobs add column pool text collate "C" not null default '';
