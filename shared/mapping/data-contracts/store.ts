import {isDeepStrictEqual} from 'node:util'
import {findContract, storeContract} from '../../../sql/data-contracts.ts'
import type {Db, Pool, Tx} from '../../../sql/database.ts'
import type {TemplateRow} from '../../../sql/templates.ts'
import type {Issue} from '../../configuration/annotation.ts'
import type {Author} from '../../configuration/change.ts'
import {invalid} from '../../configuration/modules.ts'
import {assertVersion, type Condition} from '../../configuration/version.ts'
import {Refusal} from '../../errors.ts'
import {recordTemplate} from '../templates/change.ts'
import {findVisible, lockEditable, type TemplateCaller} from '../templates/find.ts'
import type {Template} from '../templates/template.ts'
import type {Editor} from '../templates/write.ts'
import {contractOf, type DataContract, listUnknownSlots} from './contract.ts'

export type StoredContract = DataContract & {version: number; updatedAt: string | null}

export const readContract = async (db: Db, {org, template}: {org: string; template: string}): Promise<StoredContract> => {
  const row = await findContract(db, {org, template})
  return {...contractOf(row), updatedAt: row?.updatedAt ?? null}
}

export const findVisibleContract = async (db: Db, input: TemplateCaller & {id: string}): Promise<StoredContract> => {
  const {org, id} = await findVisible(db, input)
  return readContract(db, {org, template: id})
}

type ReplaceInput = {id: string; condition: Condition}

/** Replaces a template's data contract. A contract equal to the stored one creates no new version. */
export const replaceContract = (db: Pool, editor: Editor, {id, condition}: ReplaceInput, contract: DataContract): Promise<StoredContract> =>
  db.transaction(async tx => {
    const template = await lockEditable(tx, {...editor, id})
    const before = await readContract(tx, {org: template.org, template: template.id})
    assertVersion('contract', before, condition)
    return saveContract(tx, editor, {template, before, contract})
  })

type SaveInput = {
  template: Pick<TemplateRow, 'id' | 'org' | 'name' | 'shared' | 'connectorId' | 'sources'>
  before: StoredContract
  contract: DataContract
}

/** Stores a changed contract and records the change. The caller must have locked the template. */
export const saveContract = async (tx: Tx, author: Author, {template, before, contract}: SaveInput): Promise<StoredContract> => {
  if (isDeepStrictEqual(before.sources, contract.sources)) return before
  assertSlots(template, contract)
  const {id, org} = template
  const row = await storeContract(tx, {org, template: id, sources: contract.sources})
  const versionOf = (version: number) => ({templateId: id, contract: version})
  const change = {before: versionOf(before.version), after: versionOf(row.version)}
  await recordTemplate(tx, author, template, {subject: 'template.contract', ...change})
  return {...contractOf(row), updatedAt: row.updatedAt}
}

const assertSlots = ({sources}: Pick<TemplateRow, 'sources'>, contract: DataContract) => {
  const unknown = listUnknownSlots(contract, sources as {slot: string}[])
  if (unknown.length > 0)
    throw invalid(unknown.map(at => ({code: 'custom', path: ['sources', at, 'slot'], message: 'The template has no such slot'})))
}

/** Refuses a template that lacks a slot of its stored contract. `at`: the path of the template in the body. */
export const assertContractKept = ({sources}: Pick<Template, 'sources'>, contract: DataContract, at: Issue['path'] = []): void => {
  const dropped = listUnknownSlots(contract, sources).map(n => contract.sources[n]!.slot)
  if (dropped.length === 0) return
  const message = `The data contract expects something of the slot ${dropped.join(', ')}. Keep the slot, or change the contract first`
  throw new Refusal('INVALID', message, {issues: [{code: 'custom', path: [...at, 'sources'], message}]})
}
