-- The labels of jobs: in the row to be shown, beside it to be looked for, newest job first.
alter table jobs add column labels text not null default '';  -- counted texts: key, value, ...
create table job_labels (
  label text not null,  -- key=value
  job integer not null,  -- jobs.submit
  primary key (label, job)
) without rowid;
create index job_labels_job on job_labels (job);
create trigger jobs_forget_labels after delete on jobs
begin
  delete from job_labels where job = old.submit;
end;
-- Where the newest attempt was placed.
alter table jobs add column pool text not null default '';
