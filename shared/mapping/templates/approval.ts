import {createHash} from 'node:crypto'
import type {Db, Tx} from '../../../sql/database.ts'
import type {Import} from '../../../sql/imports.ts'
import {findSettings} from '../../../sql/registry.ts'
import {findTemplateApproval, listTemplateAuthors, storeTemplateApproval} from '../../../sql/template-approvals.ts'
import type {TemplateRow} from '../../../sql/templates.ts'
import {assertVersion} from '../../configuration/version.ts'
import {Refusal} from '../../errors.ts'
import {announce} from '../../notifications/announce.ts'
import {Flows} from '../flows/flow.ts'
import {recordTemplate} from './change.ts'
import {lockVisible} from './find.ts'
import {slotsOf} from './slots.ts'
import {documentOf, type Template} from './template.ts'
import type {Editor} from './write.ts'

/**
 * Approves a version of a template, so that its schedules may write more rows than `approvalAbove`. Throws SELF_APPROVAL for a person who changed the
 * template since its last approved version.
 */
export const approveTemplate = async (tx: Tx, editor: Editor, {id, version}: {id: string; version: number}): Promise<TemplateRow> => {
  const template = await lockVisible(tx, {...editor, id})
  const {org} = template
  assertVersion('template', template, version)
  const content = digestOf(documentOf(template))
  const before = await findTemplateApproval(tx, {org, template: id})
  if (before && before.version === version && before.content === content) return template
  if ((await listUnapprovedAuthors(tx, template)).includes(editor.person))
    throw new Refusal('SELF_APPROVAL', 'You changed this template since its last approval, so another admin must approve it')
  await storeTemplateApproval(tx, {org, template: id, version, digest: content, person: editor.person})
  const after = {templateId: id, version, digest: content}
  await recordTemplate(tx, editor, template, {
    subject: 'template.approved',
    before: before && {templateId: id, version: before.version},
    after,
  })
  await announce(tx, {org, kind: 'template.approved', schedule: null, about: {template: id, version, digest: content}})
  return template
}

/** `isAuthor`: `person` changed the template since its approval, so `person` cannot approve the template. */
export const readTemplateApproval = async (db: Db, template: TemplateRow, person: string) => {
  const {id, org, version} = template
  const approval = await findTemplateApproval(db, {org, template: id})
  const above = (await findSettings(db, org))?.approvalAbove ?? null
  const isApproved = approval?.version === version && approval.content === digestOf(documentOf(template))
  return {
    version,
    approvalAbove: above,
    isApproved,
    isAuthor: !isApproved && (await listUnapprovedAuthors(db, template)).includes(person),
    approved: approval && {version: approval.version, digest: approval.content, at: approval.approvedAt, by: approval.approvedBy},
  }
}

/** Whether an import is exactly the approved version of its template: the same version, and unchanged slots and flows. */
export const isTemplateApproved = async (db: Db, org: string, found: Import): Promise<boolean> => {
  if (found.templateId === null) return false
  const approval = await findTemplateApproval(db, {org, template: found.templateId})
  if (!approval || approval.version !== found.templateVersion) return false
  return approval.content === digestOf({sources: slotsOf(found), flows: Flows.parse(found.flows)})
}

/** Lists the persons who changed the template since its approved version. If the settings history names no person, returns the creator. */
const listUnapprovedAuthors = async (db: Db, {id, org, createdBy}: TemplateRow): Promise<string[]> => {
  const approval = await findTemplateApproval(db, {org, template: id})
  const authors = await listTemplateAuthors(db, {org, template: id, after: approval?.version ?? 0})
  return authors.length === 0 && createdBy !== null ? [createdBy] : [...authors]
}

/** Leaves out `sourceId`, because flows of a template name their file by slot, and flows of an import by source id. */
const digestOf = ({sources, flows}: Pick<Template, 'sources' | 'flows'>): string =>
  createHash('sha256')
    .update(
      JSON.stringify({
        sources: sources.map(({slot, reader, cleaning, choices}) => ({slot, reader, cleaning, choices})),
        flows: flows.map(({sourceId: _, ...flow}) => flow),
      }),
    )
    .digest('hex')
