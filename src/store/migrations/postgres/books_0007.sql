-- What was wrong with the newest attempt that went wrong, as a word.
alter table jobs add column ailment text collate "C" not null default 'None';
