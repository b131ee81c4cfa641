import {isDeepStrictEqual} from 'node:util'
import {findConnector} from '../../sql/connectors.ts'
import {type Db, type Pool, sqlStateOf, type Tx} from '../../sql/database.ts'
import {
  deleteTemplate,
  findTemplate,
  insertTemplate,
  setTemplateKnown,
  setTemplateShared,
  type TemplateRow,
  updateTemplate,
} from '../../sql/templates.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {invalid} from '../registry/modules.ts'
import {assertVersion, type Condition} from '../registry/version.ts'
import {type Asker, lockEditable, viewerOf} from './find.ts'
import {findKnownNow, keepKnown} from './known.ts'
import {documentOf, type Template} from './template.ts'

/** A new one, its creator's alone. */
export const createTemplate = (db: Pool, asker: Asker, document: Template): Promise<TemplateRow> =>
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
    return reread(tx, asker, id)
  })

type Asked = {id: string; condition: Condition}

/** The whole document at once. The same again is no new version, and says that what has changed around it is known. */
export const replaceTemplate = (db: Pool, asker: Asker, {id, condition}: Asked, document: Template): Promise<TemplateRow> =>
  namedOnce(db, async tx => {
    const before = await lockEditable(tx, {...asker, id})
    assertVersion('template', before, condition)
    await assertConnection(tx, asker.org, document)
    const known = await knownNow(tx, asker.org, document)
    if (!isDeepStrictEqual(documentOf(before), document)) await updateTemplate(tx, {...document, id, known})
    else if (!isDeepStrictEqual(before.known, known)) await setTemplateKnown(tx, {id, known})
    return reread(tx, asker, id)
  })

/** A shared one is everybody's of the org to use; taken back, it is its creator's again. */
export const shareTemplate = (db: Pool, asker: Asker, {id, shared}: {id: string; shared: boolean}): Promise<TemplateRow> =>
  namedOnce(db, async tx => {
    const before = await lockEditable(tx, {...asker, id})
    await setTemplateShared(tx, {id, shared})
    // An admin who takes another's back sees it no more.
    return {...before, shared}
  })

export const removeTemplate = (db: Pool, asker: Asker, {id, condition}: Asked): Promise<void> =>
  db.transaction(async tx => {
    assertVersion('template', await lockEditable(tx, {...asker, id}), condition)
    await deleteTemplate(tx, id)
  })

const assertConnection = async (db: Db, org: string, {connectorId}: Template) => {
  if (connectorId !== null && !(await findConnector(db, {org, id: connectorId})))
    throw invalid([{code: 'custom', path: ['connectorId'], message: 'No such connection: GET …/connectors lists them'}])
}

export const knownNow = async (db: Db, org: string, {connectorId, flows}: Template) =>
  keepKnown(flows, await findKnownNow(db, {org, connector: connectorId}))

const reread = async (tx: Tx, asker: Asker, id: string): Promise<TemplateRow> => (await findTemplate(tx, {...viewerOf(asker), id}))!

/** Shared templates of an org have names of their own. */
const namedOnce = async <T>(db: Pool, write: (tx: Tx) => Promise<T>): Promise<T> => {
  try {
    return await db.transaction(write)
  } catch (error) {
    if (sqlStateOf(error) !== '23505') throw error
    throw new Refusal('TEMPLATE_NAME_TAKEN', 'A shared template of the org has this name: give this one another, or change that one')
  }
}
