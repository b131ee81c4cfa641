import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

const Approval = z.object({
  version: z.number(),
  /** The digest of the template's slots and flows. */
  content: z.string(),
  approvedAt: z.string(),
  /** Null after the person was erased. */
  approvedBy: z.object({id: z.string(), name: z.string()}).nullable(),
})

type OfTemplate = {org: string; template: string}

export const findTemplateApproval = (db: Db, {org, template}: OfTemplate) =>
  db.maybeOne(sql.type(Approval)`
    select version, digest as content, approved_at as "approvedAt",
      (select jsonb_build_object('id', p.id, 'name', p.name) from people p where p.id = a.approved_by) as "approvedBy"
    from template_approvals a where template_id = ${template} and org_id = ${org}`)

type NewApproval = OfTemplate & {version: number; digest: string; person: string}

/** Replaces an earlier approval. The caller has locked the template. */
export const storeTemplateApproval = (tx: Tx, {org, template, version, digest, person}: NewApproval) =>
  tx.query(sql.type(Empty)`
    insert into template_approvals (template_id, org_id, version, digest, approved_by)
    values (${template}, ${org}, ${version}, ${digest}, ${person})
    on conflict (template_id) do update set version = excluded.version, digest = excluded.digest, approved_by = excluded.approved_by,
      approved_at = lading_now()`)

/**
 * Lists the ids of the people who wrote versions of the template after version `after`, from the settings history. A
 * change by an API token counts as written by the person who created the token.
 */
export const listTemplateAuthors = (db: Db, {org, template, after}: OfTemplate & {after: number}) =>
  db.anyFirst(sql.type(z.object({person: z.string()}))`
    select distinct coalesce(c.user_id, k.person_id) as person from changes c left join api_tokens k on k.id = c.token_id
    where c.org_id = ${org} and page = 'templates' and subject in ('template.created', 'template.changed')
      and coalesce(c.user_id, k.person_id) is not null
      and after ->> 'templateId' = ${template} and (after ->> 'version')::bigint > ${after}`)
