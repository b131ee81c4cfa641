import type {Pool} from '../../sql/database.ts'
import {markEmbedded} from '../../sql/embed-tokens.ts'
import type {Import} from '../../sql/imports.ts'
import type {Author} from '../configuration/change.ts'
import {chooseConnector} from '../crm/choose.ts'
import {Refusal} from '../errors.ts'
import {recordImport} from '../imports/change.ts'
import {makeImport} from '../mapping/templates/apply.ts'
import {findEmbedTemplate} from './describe.ts'
import {admitEmbedImport, type EmbedScope} from './scope.ts'

type EmbedAuthor = Author & {person: string; embed: EmbedScope}
type CreateImportInput = {name?: string | undefined; connectorId?: string | undefined; templateId?: string | undefined}

/** The token determines template and connection, so a request cannot choose others. */
export const createEmbeddedImport = (db: Pool, author: EmbedAuthor, {name, connectorId, templateId}: CreateImportInput): Promise<Import> =>
  db.transaction(async tx => {
    const {org, person, embed} = author
    if (templateId !== undefined && templateId !== embed.template) throw new Refusal('NOT_FOUND', 'No such template')
    await admitEmbedImport(tx, embed)
    const template = await findEmbedTemplate(tx, author)
    const connection = template.connectorId ?? (await chooseConnector(tx, {org, id: undefined})).id
    if (connectorId !== undefined && connectorId !== connection) throw new Refusal('CONNECTION_NOT_FOUND', 'No such connection')
    const made = await makeImport(tx, {org, person, template, connectorId: connection, name})
    await markEmbedded(tx, {importNo: made.no, token: embed.id})
    await recordImport(tx, author, made, {
      subject: 'import.created',
      before: null,
      after: {importId: made.id, templateId: made.templateId, embedOrigin: embed.origin},
    })
    return made
  })
