-- The org to which the CRM admitted the person at the sign-in. A session that moved to another org may return to it. Null for guests and older sessions.
alter table sessions add column home_org_id text;
