import {z} from 'zod'
import {type ConnectorRow, insertConnector, readConnector} from '../../../sql/connectors.ts'
import type {Pool} from '../../../sql/database.ts'
import {keepSecret} from '../../../sql/grants.ts'
import type {Config} from '../../config.ts'
import {type Author, recordChanges} from '../../configuration/change.ts'
import {Refusal} from '../../errors.ts'
import {newId} from '../../ids.ts'
import {isOneLine, notOneLine, oneLine} from '../../schema/name.ts'
import {GenericDocument, isAllowed, Secret} from '../generic-document.ts'
import {sealRefresh} from '../sealed.ts'
import {addedChange} from './change.ts'

/** Returns whether all labels are on one line. Only new documents are checked, because an earlier release accepted any label. */
const hasPlainLabels = ({modules}: GenericDocument) =>
  modules.every(({label, fields}) => [label, ...fields.map(field => field.label)].every(isOneLine))

/** A generic connection needs no consent: the document describes the API, and the secret authenticates the calls. */
export const NewConnector = z
  .strictObject({
    kind: z.literal('generic').describe('A generic REST API'),
    name: oneLine(z.string().trim().min(1).max(100)).describe('The name of the connection'),
    document: GenericDocument.refine(hasPlainLabels, notOneLine).describe('Describes the API'),
    secret: Secret.optional().describe('The secret that is sent as `auth` in the document describes. Stored encrypted and never returned'),
  })
  .refine(({document, secret}) => (document.auth === undefined) === (secret === undefined), {
    path: ['secret'],
    message: 'Send both `secret` and `auth` in the document, or neither',
  })

type AddConnectorDeps = {db: Pool; config: Pick<Config, 'GENERIC_ORIGINS' | 'SECRETS_KEYS'>}

/** Each generic connection is a separate CRM org, with a separate quota and slot pool. */
export const addGeneric = (
  {db, config}: AddConnectorDeps,
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
    await recordChanges(tx, author, [{...addedChange(name), connectorId: id}])
    return (await readConnector(tx, id))!
  })
}

const assertAllowed = (config: AddConnectorDeps['config'], document: GenericDocument) => {
  if (config.GENERIC_ORIGINS.length === 0)
    throw new Refusal(
      'NOT_CONFIGURED',
      'Generic connections are disabled. The operator enables them by listing the allowed origins in GENERIC_ORIGINS',
    )
  if (isAllowed(config, document)) return
  const issues = [{path: ['document', 'baseUrl'], message: 'This origin is not listed in GENERIC_ORIGINS. Ask the operator to add it'}]
  throw new Refusal('INVALID', 'Calls to this origin are not allowed here', {issues})
}
