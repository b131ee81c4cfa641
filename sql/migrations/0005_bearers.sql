-- A bearer outlives what it stood for, so that whoever still sends it is told what is gone (ORG_NOT_FOUND, MEMBERSHIP_GONE)
-- and not only that it is unknown. Sessions leave when they expire; the tokens of an erased org are all that is left of it.
alter table sessions drop constraint sessions_org_id_fkey, drop constraint sessions_person_id_fkey;
alter table api_tokens drop constraint api_tokens_org_id_fkey;
