import {isDeepStrictEqual} from 'node:util'
import {findConnector} from '../../../sql/connectors.ts'
import {type Db, type Pool, sqlStateOf, type Tx} from '../../../sql/database.ts'
import {
  deleteTemplate,
  findTemplate,
  insertTemplate,
  setTemplateKnown,
  setTemplateShared,
  type TemplateRow,
  updateTemplate,
} from '../../../sql/templates.ts'
import type {Author} from '../../configuration/change.ts'
import {assertUnmapped, readIdempotencyFields} from '../../configuration/idempotency-field.ts'
import {invalid} from '../../configuration/modules.ts'
import {assertVersion, type Condition} from '../../configuration/version.ts'
import {Refusal} from '../../errors.ts'
import {newId} from '../../ids.ts'
import {assertContractKept, readContract} from '../data-contracts/store.ts'
import {recordTemplate, versionOf} from './change.ts'
import {lockEditable, type TemplateCaller, viewerOf} from './find.ts'
import {isSameContent, type Template} from './template.ts'
import {findKnownNow, keepKnown} from './template-fields.ts'
import {keepVerify} from './verify.ts'

export type Editor = TemplateCaller & Author

export const createTemplate = (db: Pool, asker: Editor, document: Template): Promise<TemplateRow> =>
  db.transaction(async tx => {
    const id = newId('tpl')
    await assertConnection(tx, asker.org, document)
    await insertTemplate(tx, {
      ...document,
      id,
      org: asker.org,
      person: asker.person,
      shared: false,
      known: await knownNow(tx, asker.org, document),
    })
    const made = await reread(tx, asker, id)
    await recordTemplate(tx, asker, made, {subject: 'template.created', before: null, after: versionOf(made)})
    return made
  })

type TemplateInput = {id: string; condition: Condition}

/**
 * Replaces the whole document. Equal content makes no new version, but the current fields and libraries are stored as known. Throws INVALID if
 * the document lacks a slot of the data contract.
 */
export const replaceTemplate = (db: Pool, asker: Editor, {id, condition}: TemplateInput, document: Template): Promise<TemplateRow> =>
  namedOnce(db, async tx => {
    const before = await lockEditable(tx, {...asker, id})
    assertVersion('template', before, condition)
    await assertConnection(tx, asker.org, document)
    const known = await knownNow(tx, asker.org, document)
    await keepVerify(tx, asker, before, document.verify)
    if (isSameContent(before, document)) {
      if (!isDeepStrictEqual(before.known, known)) await setTemplateKnown(tx, {id, known})
      return reread(tx, asker, id)
    }
    assertContractKept(document, await readContract(tx, {org: asker.org, template: id}))
    await updateTemplate(tx, {...document, id, known})
    const changed = await reread(tx, asker, id)
    await recordTemplate(tx, asker, changed, {subject: 'template.changed', before: versionOf(before), after: versionOf(changed)})
    return changed
  })

/** Every member may use a shared template. A private template is visible to its creator and to admins. */
export const shareTemplate = (db: Pool, asker: Editor, {id, shared}: {id: string; shared: boolean}): Promise<TemplateRow> =>
  namedOnce(db, async tx => {
    const before = await lockEditable(tx, {...asker, id})
    if (before.shared === shared) return before
    await setTemplateShared(tx, {id, shared})
    await recordTemplate(tx, asker, {...before, shared: true}, {subject: 'template.shared', before: before.shared, after: shared})
    return {...before, shared}
  })

export const removeTemplate = (db: Pool, asker: Editor, {id, condition}: TemplateInput): Promise<void> =>
  db.transaction(async tx => {
    const before = await lockEditable(tx, {...asker, id})
    assertVersion('template', before, condition)
    await deleteTemplate(tx, id)
    await recordTemplate(tx, asker, before, {subject: 'template.deleted', before: versionOf(before), after: null})
  })

const assertConnection = async (db: Db, org: string, {connectorId, flows}: Template) => {
  if (connectorId !== null && !(await findConnector(db, {org, id: connectorId})))
    throw invalid([{code: 'custom', path: ['connectorId'], message: 'No such connection. GET …/connectors lists them'}])
  if (connectorId !== null) assertUnmapped(flows, await readIdempotencyFields(db, {org, connector: connectorId}))
}

export const knownNow = async (db: Db, org: string, {connectorId, flows}: Template) =>
  keepKnown(flows, await findKnownNow(db, {org, connector: connectorId}))

const reread = async (tx: Tx, asker: TemplateCaller, id: string): Promise<TemplateRow> =>
  (await findTemplate(tx, {...viewerOf(asker), id}))!

/** Throws TEMPLATE_NAME_TAKEN if another shared template of the org has the name. */
const namedOnce = async <T>(db: Pool, write: (tx: Tx) => Promise<T>): Promise<T> => {
  try {
    return await db.transaction(write)
  } catch (error) {
    if (sqlStateOf(error) !== '23505') throw error
    throw new Refusal(
      'TEMPLATE_NAME_TAKEN',
      'A shared template of the org has this name already. Use another name, or change that template',
    )
  }
}
