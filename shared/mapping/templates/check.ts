import {listConnectors} from '../../../sql/connectors.ts'
import type {Db} from '../../../sql/database.ts'
import type {TemplateRow} from '../../../sql/templates.ts'
import {Refusal} from '../../errors.ts'
import {type Drift, findDrift} from './drift.ts'
import {findKnownNow} from './template-fields.ts'

type CheckedTemplate = {connectorId: string; discovery: {id: string; createdAt: string}; problems: Drift[]}

/**
 * Checks a template against the newest discovery of a connection. Order of precedence: the connection `named`, the template's connection, the org's
 * only connection, the org's only connected one.
 */
export const checkTemplate = async (db: Db, template: TemplateRow, named: string | undefined): Promise<CheckedTemplate> => {
  const {org} = template
  const connector = await chooseConnection(db, template, named)
  const {discovery, modules, ...known} = await findKnownNow(db, {org, connector})
  if (!discovery)
    throw new Refusal(
      'NO_DISCOVERY',
      'The modules of this connection have not been discovered yet. Call POST /orgs/{org}/discovery/run first',
    )
  const {id, createdAt} = discovery
  return {connectorId: connector, discovery: {id, createdAt}, problems: findDrift(template, {sources: [], modules, ...known})}
}

const chooseConnection = async (db: Db, {org, connectorId}: TemplateRow, named: string | undefined): Promise<string> => {
  const connections = await listConnectors(db, org)
  if (named !== undefined && !connections.some(({id}) => id === named)) throw new Refusal('CONNECTION_NOT_FOUND', 'No such connection')
  const connected = connections.filter(({state}) => state === 'connected')
  const [only] = connections.length === 1 ? connections : connected.length === 1 ? connected : []
  const chosen = named ?? connectorId ?? only?.id
  if (chosen === undefined)
    throw new Refusal('CONNECTION_REQUIRED', 'This template has no connection. Name one with ?connector=', {
      connections: connections.map(({id, name, state}) => ({id, name, state})),
    })
  return chosen
}
