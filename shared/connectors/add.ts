import {z} from 'zod'
import {type ConnectorRow, insertConnector, readConnector} from '../../sql/connectors.ts'
import type {Pool} from '../../sql/database.ts'
import {keepSecret} from '../../sql/grants.ts'
import type {Config} from '../config.ts'
import {Document, isAllowed, Secret} from '../crm/generic-document.ts'
import {sealRefresh} from '../crm/sealed.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {oneLine} from '../name.ts'
import {type Author, recordChanges} from '../registry/change.ts'
import {added} from './change.ts'

/** A connection that needs nobody's consent: what it speaks to is described, and the secret it is let in by is given. */
export const NewConnector = z
  .strictObject({
    kind: z.literal('generic').describe('A plain REST destination'),
    name: oneLine(z.string().trim().min(1).max(100)).describe('What to call the connection'),
    document: Document.describe('How it is spoken to'),
    secret: Secret.optional().describe('What `auth` in the document sends. Kept sealed, and told to nobody'),
  })
  .refine(({document, secret}) => (document.auth === undefined) === (secret === undefined), {
    path: ['secret'],
    message: 'A secret goes with `auth` in the document, which says where it is sent',
  })

type Tools = {db: Pool; config: Pick<Config, 'GENERIC_ORIGINS' | 'SECRETS_KEYS'>}

/** By itself the one connection to its place: its allowance and its calls at once are counted for it alone. */
export const addGeneric = (
  {db, config}: Tools,
  author: Author,
  {kind, name, document, secret}: z.output<typeof NewConnector>,
): Promise<ConnectorRow> => {
  assertAllowed(config, document)
  const {org, person = null} = author
  const id = newId('con')
  const place = {dc: kind, crmOrgId: id, apiDomain: new URL(document.baseUrl).origin, crmUserId: id, crmUserName: '', scopes: []}
  return db.transaction(async tx => {
    await insertConnector(tx, {...place, id, org, name, person, kind, document})
    if (secret !== undefined) await keepSecret(tx, {connector: id, refreshSealed: sealRefresh(config.SECRETS_KEYS, id, secret)})
    await recordChanges(tx, author, [{...added(name), connectorId: id}])
    return (await readConnector(tx, id))!
  })
}

const assertAllowed = (config: Tools['config'], document: Document) => {
  if (config.GENERIC_ORIGINS.length === 0)
    throw new Refusal(
      'NOT_CONFIGURED',
      'Connections of this kind are switched off here: the operator lists where they may lead in GENERIC_ORIGINS',
    )
  if (isAllowed(config, document)) return
  const issues = [{path: ['document', 'baseUrl'], message: 'The operator has not listed this origin in GENERIC_ORIGINS'}]
  throw new Refusal('INVALID', 'Calls to this origin are not allowed here', {issues})
}
