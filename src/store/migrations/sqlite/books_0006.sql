-- Rows of the audit by user, by object and by verb, newest first. Most are submits: of these a
-- page is found without an index.
create index audit_user on audit (user_name, number);
create index audit_object on audit (object, number);
create index audit_verb on audit (verb, number) where verb <> 'submit';
