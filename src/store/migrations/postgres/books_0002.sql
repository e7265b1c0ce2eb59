-- How the newest attempt of a job that ended by itself went.
alter table jobs add column exit_code bigint;
alter table jobs add column reason text not null default '';
