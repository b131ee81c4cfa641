import {z} from 'zod'
import {type Db, sql} from './database.ts'

const Entry = z.object({
  at: z.string(),
  id: z.string(),
  source: z.enum(['settings', 'access', 'runs', 'staff']),
  kind: z.string(),
  via: z.string().nullable(),
  personId: z.string().nullable(),
  personName: z.string().nullable(),
  personEmail: z.string().nullable(),
  staffId: z.string().nullable(),
  staffName: z.string().nullable(),
  tokenId: z.string().nullable(),
  sessionId: z.string().nullable(),
  address: z.string().nullable(),
  userAgent: z.string().nullable(),
  target: z.string().nullable(),
  detail: z.record(z.string(), z.unknown()),
  /** The entry's time as text, with microseconds. The next page starts after this time and `id`. */
  place: z.string(),
})

export type AuditPage = {org: string; from: string | null; to: string; after: {place: string; id: string} | null; limit: number}

/** Lists at most `limit` audit entries of the org from `from` until before `to`, oldest first. Reads at most `limit` rows of each source. */
export const listAuditEntries = (db: Db, page: AuditPage) => db.any(auditPage(page))

export const auditPage = (page: AuditPage) => sql.type(Entry)`
    select at, e.id, source, kind, via, person_id as "personId", p.name as "personName", p.email as "personEmail", staff_id as "staffId",
      staff_name as "staffName", token_id as "tokenId", session_id as "sessionId", address, user_agent as "userAgent", target, detail,
      at::text as place
    from (${sql.join(
      sourcesOf(page).map(rows => sliceOf(page, rows)),
      sql.fragment` union all `,
    )}) e
    left join people p on p.id = person_id
    order by at, e.id limit ${page.limit}`

type Fragment = ReturnType<typeof sql.fragment>

/** `coalesce` always gives a lower limit of the time, because Postgres does not use an index for `limit is null or at >= limit`. */
const isOnPage = ({from, to, after}: AuditPage, at: Fragment, id: Fragment) => sql.fragment`
  ${at} < ${to}::timestamptz and ${at} >= coalesce(${after?.place ?? from}::timestamptz, '-infinity')
    and (${after?.id ?? null}::text is null or (${at}, ${id}) > (${after?.place ?? null}::timestamptz, ${after?.id ?? null}::text collate "C"))`

const sliceOf = (page: AuditPage, rows: Fragment) => sql.fragment`
  (select at, id, source, kind, via, person_id, staff_id, staff_name, token_id, session_id, address, user_agent, target, detail
  from (${rows}) r
  where ${isOnPage(page, sql.fragment`at`, sql.fragment`id`)}
  order by at, id limit ${page.limit})`

const sourcesOf = ({org, ...page}: AuditPage): Fragment[] => [
  settingsOf(org),
  accessOf(org),
  staffActionsOf(org),
  ...(['created', 'revoked'] as const).map(moment => clientsOf(org, moment)),
  ...(['authorised', 'started', 'ended'] as const).map(moment => runsOf({org, ...page}, moment)),
]

const noStaff = sql.fragment`null::text as staff_id, null::text as staff_name`
const noDevice = sql.fragment`null::text as session_id, null::text as address, null::text as user_agent`

const settingsOf = (org: string) => sql.fragment`
  select c.created_at as at, c.id collate "C" as id, 'settings' as source, c.subject as kind, via, user_id as person_id, ${noStaff}, token_id,
    ${noDevice}, coalesce(target, about.name) as target,
    jsonb_build_object('page', page, 'before', before, 'after', after, 'proposedBy', proposed_by, 'registryVersion', registry_version,
      'connectorId', connector_id, 'targetPersonId', target_person_id) as detail
  from changes c left join people about on about.id = target_person_id where org_id = ${org}`

const accessOf = (org: string) => sql.fragment`
  select created_at as at, id, case when kind like 'run.%' then 'runs' else 'access' end as source, kind, via, person_id, ${noStaff}, token_id,
    session_id, address, user_agent, target, detail
  from audit_events where org_id = ${org}`

/**
 * SQL for the staff actions that concern the org. Leaves out the reason except for a staff view, because other reasons are internal notes of the
 * staff.
 */
const staffActionsOf = (org: string) => sql.fragment`
  select created_at as at, id collate "C" as id, 'staff' as source, 'staff.' || kind as kind, 'staff' as via, null::text as person_id, staff_id,
    staff_name, null::text as token_id, ${noDevice}, person_id as target,
    (detail - 'roles' - 'session' - 'callerRequest')
      || case when kind = 'view' then jsonb_build_object('reason', reason) else '{}' end as detail
  from staff_actions where org_id = ${org}`

/** SQL for grants of MCP clients that have no audit event, because an older build wrote them. Who revoked such a grant is unknown. */
const clientsOf = (org: string, moment: 'created' | 'revoked') => {
  const at = sql.identifier(['g', `${moment}_at`])
  const [kind, by] =
    moment === 'created'
      ? ['client.allowed', sql.fragment`'session' as via, g.person_id`]
      : ['client.revoked', sql.fragment`null::text as via, null::text as person_id`]
  return sql.fragment`
  select ${at} as at, (g.id || ${`.${moment}`}) collate "C" as id, 'access' as source, ${kind} as kind, ${by}, ${noStaff},
    null::text as token_id, ${noDevice}, c.name as target, jsonb_build_object('grantId', g.id) as detail
  from oauth_grants g join oauth_clients c on c.id = client_id
  where g.org_id = ${org} and ${at} is not null
    and not exists (select from audit_events e where e.org_id = g.org_id and e.created_at = ${at} and e.detail ->> 'grantId' = g.id)`
}

/** SQL for the moments of runs on a page. The limit is inside the joins, so that a page does not join all runs of the org. */
const runsOf = (page: AuditPage, moment: 'authorised' | 'started' | 'ended') => {
  const [at, id] = [sql.identifier([`${moment}_at`]), sql.fragment`(id || ${`.${moment}`}::text) collate "C"`]
  return sql.fragment`
  select r.at, r.id, 'runs' as source, ${`run.${moment}`} as kind, null::text as via, person_id, ${noStaff}, null::text as token_id, ${noDevice},
    i.name as target, jsonb_build_object('runId', r.run, 'importId', i.id, 'connectorId', r.connector_id, 'dryRun', dry_run)
      || ${moment === 'ended' ? sql.fragment`jsonb_build_object('stop', h.stop, 'rows', h.counted)` : sql.fragment`'{}'::jsonb`} as detail
  from (
    select ${at} as at, ${id} as id, id as run, run_no, import_no, connector_id, dry_run, person_id from runs
    where org_id = ${page.org} and ${at} is not null and ${isOnPage(page, sql.fragment`${at}`, id)}
    order by ${at}, ${id} limit ${page.limit}
  ) r join run_heads h using (run_no) left join imports i using (import_no)`
}
