import type {Db, Tx} from '../../../sql/database.ts'
import {findTemplate, lockTemplate, type TemplateRow, type Viewer} from '../../../sql/templates.ts'
import {isAtLeast, type Role} from '../../accounts/roles.ts'
import {Refusal} from '../../errors.ts'

export type TemplateCaller = {org: string; person: string; rank: Role}

/** A member sees shared templates and their own; admins see all. Throws NOT_FOUND for any other template. */
export const findVisible = async (db: Db, {id, ...asker}: TemplateCaller & {id: string}): Promise<TemplateRow> =>
  (await findTemplate(db, {...viewerOf(asker), id})) ?? refuse()

export const lockVisible = async (tx: Tx, {id, ...asker}: TemplateCaller & {id: string}): Promise<TemplateRow> =>
  (await lockTemplate(tx, {...viewerOf(asker), id})) ?? refuse()

/** Throws ROLE_REQUIRED unless the member is an admin, or a builder who created the template. */
export const lockEditable = async (tx: Tx, {id, ...asker}: TemplateCaller & {id: string}): Promise<TemplateRow> => {
  const template = await lockVisible(tx, {...asker, id})
  if (!mayEdit(template, asker))
    throw new Refusal('ROLE_REQUIRED', 'Only the creator of this template, or an admin, can change it. Save your own copy')
  return template
}

export const mayEdit = ({createdBy}: Pick<TemplateRow, 'createdBy'>, {person, rank}: Omit<TemplateCaller, 'org'>): boolean =>
  isAtLeast(rank, 'builder') && (createdBy === person || isAtLeast(rank, 'admin'))

export const viewerOf = ({org, person, rank}: TemplateCaller): Viewer => ({org, person, admin: isAtLeast(rank, 'admin')})

const refuse = (): never => {
  throw new Refusal('NOT_FOUND', 'No such template')
}
