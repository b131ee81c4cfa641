-- When the invitation was last sent by e-mail. Null: never.
alter table invitations add column mailed_at timestamptz;
