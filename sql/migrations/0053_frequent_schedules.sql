-- Schedules of the enterprise plan may fire every minute; those of every other plan every five minutes at most.
-- in pieces
update plan_versions set features = features || '{frequent_schedules}'
where id in (select id from plan_versions where key = 'enterprise' and not 'frequent_schedules' = any(features) limit 100)
