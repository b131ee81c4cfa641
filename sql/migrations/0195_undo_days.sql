-- The days for which a run can be undone, by plan.
-- in pieces
update plan_versions set limits = limits || jsonb_build_object('undoDays',
  case key when 'free' then 7 when 'trial' then 14 when 'team' then 30 when 'business' then 90 when 'enterprise' then 180 else 7 end)
where id in (select id from plan_versions where not limits ? 'undoDays' limit 100)
