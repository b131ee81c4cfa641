import type {Db, Tx} from '../../sql/database.ts'
import {findTemplate, lockTemplate, type TemplateRow, type Viewer} from '../../sql/templates.ts'
import {Refusal} from '../errors.ts'
import {isAtLeast, type Role} from '../people/roles.ts'

/** Who asks for a template, and with which rank. */
export type Asker = {org: string; person: string; rank: Role}

/** A private template is visible to its creator and to admins. For every other member the answer is NOT_FOUND. */
export const findVisible = async (db: Db, {id, ...asker}: Asker & {id: string}): Promise<TemplateRow> =>
  (await findTemplate(db, {...viewerOf(asker), id})) ?? refuse()

/** The same, held until the transaction ends: for what goes with it, or is made of it. */
export const lockVisible = async (tx: Tx, {id, ...asker}: Asker & {id: string}): Promise<TemplateRow> =>
  (await lockTemplate(tx, {...viewerOf(asker), id})) ?? refuse()

/** The same for who may change it: its creator, and admins. */
export const lockEditable = async (tx: Tx, {id, ...asker}: Asker & {id: string}): Promise<TemplateRow> => {
  const template = await lockVisible(tx, {...asker, id})
  if (!mayEdit(template, asker))
    throw new Refusal('ROLE_REQUIRED', 'Only whoever made this template, or an admin, changes it: save one of your own')
  return template
}

export const mayEdit = ({createdBy}: Pick<TemplateRow, 'createdBy'>, {person, rank}: Omit<Asker, 'org'>): boolean =>
  isAtLeast(rank, 'builder') && (createdBy === person || isAtLeast(rank, 'admin'))

export const viewerOf = ({org, person, rank}: Asker): Viewer => ({org, person, admin: isAtLeast(rank, 'admin')})

const refuse = (): never => {
  throw new Refusal('NOT_FOUND', 'No such template')
}
