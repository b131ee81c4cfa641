import {findConnector} from '../../sql/connectors.ts'
import type {Tx} from '../../sql/database.ts'
import type {TemplateRow} from '../../sql/templates.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import {documentOf} from '../mapping/templates/template.ts'
import {assertMayDelete} from '../runs/confirm-deletes.ts'
import type {FileSource} from './fetch/main.ts'
import {fillPlaceholders} from './fetch/main.ts'
import {isQuery} from './fetch/source.ts'
import {OutboundFailure} from './outbound/failure.ts'
import {fits, hostOf, readHost} from './outbound/hosts.ts'
import {assertPrivate, readUrl} from './outbound/outbound.ts'

type Hosts = Pick<Config, 'PRIVATE_HOSTS' | 'SOURCE_HOSTS'>

/**
 * Refuses a source whose address every fetch would refuse: an unencrypted connection to a host that PRIVATE_HOSTS does not list, or a host that
 * SOURCE_HOSTS does not allow.
 */
export const assertSourceAllowed = ({PRIVATE_HOSTS, SOURCE_HOSTS}: Hosts, org: string, source: FileSource): void => {
  const {field, host, url} = addressOf(source)
  const guard = {privateHosts: PRIVATE_HOSTS, org}
  try {
    if (url !== null) readUrl(guard, url)
    if ('tls' in source && !source.tls) assertPrivate(guard, host ?? source.host, source.port)
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error
    throw refuseSource(url === null ? 'tls' : field, error.message)
  }
  if (host !== null && !fits(host, SOURCE_HOSTS))
    throw refuseSource(field, `Files cannot be fetched from ${host}. Ask the operator to add it to SOURCE_HOSTS`)
}

/**
 * Refuses a template that deletes records, and one that needs several files, because a schedule fetches one file. Sheets of one workbook and sources
 * with equal columns are treated as one file. A query returns one table, so it cannot fill several sheets.
 */
export const assertSchedulable = (template: TemplateRow, source: Pick<FileSource, 'kind'>): void => {
  const {flows, sources} = documentOf(template)
  assertMayDelete(flows, null)
  const needed = sources.map(({columns, reader}) => ({
    columns: JSON.stringify(columns),
    sheet: 'sheet' in reader ? reader.sheet : undefined,
  }))
  const others = needed.slice(1).filter(({sheet}) => isQuery(source) || sheet === undefined)
  const sheets = new Set(needed.map(({sheet}) => sheet).filter(sheet => sheet !== undefined))
  if (others.some(({columns}) => columns !== needed[0]!.columns) || (isQuery(source) && sheets.size > 1))
    throw new Refusal(
      'TEMPLATE_NEEDS_FILES',
      `The template takes ${sources.length} ${isQuery(source) ? 'tables' : 'files'} (${sources.map(({label}) => label).join(', ')}), and a schedule fetches one. Save a template for each, and schedule each`,
    )
}

/** Refuses a connection that has ended, was disconnected or does not exist, because the next firing would stop the schedule. */
export const assertConnected = async (tx: Tx, {org, connector: id}: {org: string; connector: string | null}): Promise<void> => {
  const connector = id === null ? null : await findConnector(tx, {org, id})
  if (connector?.state !== 'connected')
    throw new Refusal(
      'CONNECTION_ENDED',
      `The connection ${connector?.name ?? ''} has ended. Connect it again, or choose another connection`.replace('  ', ' '),
    )
}

const addressOf = (source: FileSource): {field: string; host: string | null; url: string | null} => {
  if ('host' in source) return {field: 'host', host: readHost(source.host), url: null}
  const url = source.kind === 'https' ? filledUrl(source) : (source.endpoint ?? null)
  return {field: source.kind === 'https' ? 'url' : 'endpoint', host: url === null ? null : hostOf(new URL(url)), url}
}

const filledUrl = (source: Extract<FileSource, {kind: 'https'}>) => {
  const filled = fillPlaceholders(source, {at: new Date(), timezone: 'UTC'})
  return filled.kind === 'https' ? filled.url : source.url
}

const refuseSource = (field: string, message: string) =>
  new Refusal('SOURCE_REFUSED', 'No schedule can fetch from this file source. Correct the listed field', {
    issues: [{path: ['source', field], message}],
  })
