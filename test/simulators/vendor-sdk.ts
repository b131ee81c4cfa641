import {mkdtempSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import * as sdk from '@zohocrm/nodejs-sdk-8.0'
import type {CrmSimulator} from './crm.ts'
import {client} from './crm-caller.ts'

/** A record as the SDK expects it: `Choice` for a picklist, `Record` for a link or a subform row. */
export type Values = {[field: string]: unknown}
export type Entry = {code: string; id: string | null; action: string | null}
export type SdkAnswer = {status: number; entries: Entry[]; records: {[field: string]: unknown}[]}

/** Configures the SDK for a simulator. A process has one SDK. It validates picklist values itself and gets a folder for its files. */
export const openSdk = async (crm: CrmSimulator, email: string) => {
  const folder = mkdtempSync(join(tmpdir(), 'vendor-sdk-'))
  const {refreshToken} = crm.grant({email, scopes: sdkScopes})
  const {client_id, client_secret} = client
  const token = new sdk.OAuthBuilder().clientId(client_id).clientSecret(client_secret).refreshToken(refreshToken).build()
  const builder = await new sdk.InitializeBuilder()
  await builder
    .environment(sdk.DataCenter.setEnvironment(crm.url, `${crm.url}/oauth/v2/token`, crm.url))
    .token(token)
    .store(new sdk.FileStore(join(folder, 'tokens.txt')))
    .SDKConfig(new sdk.SDKConfigBuilder().pickListValidation(true).autoRefreshFields(true).build())
    .resourcePath(folder)
    .logger(new sdk.LogBuilder().level(sdk.Levels.OFF).filePath(join(folder, 'log')).build())
    .initialize()
  return {folder, operations: (module: string) => operationsOf(module), query}
}

const sdkScopes = [
  'ZohoCRM.modules.ALL',
  'ZohoCRM.settings.ALL',
  'ZohoCRM.users.READ',
  'ZohoCRM.org.READ',
  'ZohoCRM.coql.READ',
  'ZohoSearch.securesearch.READ',
  'ZohoCRM.bulk.ALL',
]

const operationsOf = (module: string) => {
  const calls = new sdk.Record.RecordOperations(module)
  const parameters = (of: any, values: Values) => {
    const map = new sdk.ParameterMap()
    return Promise.all(Object.entries(values).map(([name, value]) => map.add(of[name], value))).then(() => map)
  }
  return {
    create: async (records: Values[]) => read(await calls.createRecords(bodyOf(records))),
    update: async (records: Values[]) => read(await calls.updateRecords(bodyOf(records))),
    upsert: async (records: Values[], by: string[]) => read(await calls.upsertRecords(bodyOf(records, by))),
    remove: async (ids: string[]) => read(await calls.deleteRecords(await parameters(sdk.Record.DeleteRecordsParam, {IDS: ids.join(',')}))),
    read: async (id: string) => read(await calls.getRecord(BigInt(id))),
    search: async (criteria: string) =>
      read(await calls.searchRecords(await parameters(sdk.Record.SearchRecordsParam, {CRITERIA: criteria}))),
  }
}

const query = async (text: string) => {
  const body = new sdk.Coql.BodyWrapper()
  body.setSelectQuery(text)
  return read(await new sdk.Coql.CoqlOperations().getRecords(body))
}

export const choice = (value: string): unknown => new sdk.Choice(value)
export const record = (values: Values): unknown => {
  const made = new sdk.Record.Record()
  for (const [name, value] of Object.entries(values)) name === 'id' ? made.setId(BigInt(String(value))) : made.addKeyValue(name, value)
  return made
}

const bodyOf = (records: Values[], by?: string[]) => {
  const body = new sdk.Record.BodyWrapper()
  body.setData(records.map(record))
  body.setTrigger([])
  if (by) body.setDuplicateCheckFields(by)
  return body
}

const read = (answer: any): SdkAnswer => {
  const data: any[] = answer.getObject()?.getData?.() ?? []
  const isEntry = (one: any) => typeof one.getCode === 'function'
  return {
    status: answer.getStatusCode(),
    entries: data.filter(isEntry).map(readEntry),
    records: data.filter(one => !isEntry(one)).map(one => ({...Object.fromEntries(one.getKeyValues()), id: String(one.getId())})),
  }
}

const readEntry = (entry: any): Entry => {
  const id = entry.getDetails()?.get('id')
  return {code: entry.getCode().getValue(), id: id === undefined ? null : String(id), action: entry.getAction?.()?.getValue() ?? null}
}
