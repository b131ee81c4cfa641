-- A change by an embed token that a session created has no API token, and names the person who created the embed token.
alter table changes drop constraint changes_check1, add constraint changes_user_via
  check (user_id is null or via in ('session', 'oauth') or (via = 'token' and token_id is null)) not valid;
