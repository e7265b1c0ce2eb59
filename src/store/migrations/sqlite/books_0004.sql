-- Who keeps these books, for those who see several servers' work side by side.
alter table ledger add column server text not null default '';
update ledger set server = lower(hex(randomblob(6)));
