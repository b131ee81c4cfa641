import type {Pool} from '../../sql/database.ts'
import type {Import} from '../../sql/imports.ts'
import type {Role} from '../accounts/roles.ts'
import type {Author} from '../configuration/change.ts'
import {makeEmptyImport, makeImport} from '../mapping/templates/apply.ts'
import {findVisible} from '../mapping/templates/find.ts'
import {recordImport} from './change.ts'

type CreateImportInput = {name?: string | undefined; connectorId?: string | undefined; templateId?: string | undefined}

export const createImport = (
  db: Pool,
  author: Author & {person: string; role: Role},
  {templateId, ...input}: CreateImportInput,
): Promise<Import> =>
  db.transaction(async tx => {
    const {org, person, role: rank} = author
    const made =
      templateId === undefined
        ? await makeEmptyImport(tx, {org, person, ...input, connectorId: input.connectorId!})
        : await makeImport(tx, {org, person, template: await findVisible(tx, {org, person, rank, id: templateId}), ...input})
    const after = {importId: made.id, templateId: made.templateId}
    await recordImport(tx, author, made, {subject: 'import.created', before: null, after})
    return made
  })
