import {z} from 'zod'
import {readCursor, writeCursor} from '../../shared/cursor.ts'
import {Refusal} from '../../shared/errors.ts'
import {Flows, findIssues} from '../../shared/flows/flow.ts'
import {newId} from '../../shared/ids.ts'
import {describeImport} from '../../shared/runs/describe-import.ts'
import {findKnown} from '../../shared/runs/start.ts'
import {lockOpenImport} from '../../shared/sources/find.ts'
import {findConnector} from '../../sql/connectors.ts'
import {findImport, insertImport, listImports, setFlows} from '../../sql/imports.ts'
import {listSources} from '../../sql/sources.ts'
import {limitOf} from '../page.ts'
import {route} from '../route.ts'

const Id = z.object({org: z.string(), id: z.string()})

export default [
  route({
    method: 'post',
    path: '/orgs/:org/imports',
    access: {role: 'operator'},
    params: z.object({org: z.string()}),
    body: z.strictObject({name: z.string().min(1).max(200).default('Import'), connectorId: z.string()}),
    status: 201,
    async handle({db, caller, body: {name, connectorId}}) {
      const connector = await findConnector(db, {org: caller.org, id: connectorId})
      if (!connector) throw new Refusal('CONNECTION_NOT_FOUND', 'No such connection: GET /orgs/{org}/connectors lists them')
      const made = await insertImport(db, {id: newId('imp'), org: caller.org, connector: connector.id, name, person: caller.person})
      return {import: describeImport(made, [])}
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports',
    access: {role: 'operator'},
    params: z.object({org: z.string()}),
    query: z.object({limit: limitOf({usual: 50, most: 200}), cursor: z.string().optional()}),
    async handle({db, config, caller: {org}, query: {limit, cursor}}) {
      const list = `imports ${org}`
      const before = readCursor(config.SECRETS_KEYS, list, cursor)
      const page = await listImports(db, {org, before: before === null ? null : String(before), limit: limit + 1})
      const last = page.length > limit ? page[limit - 1] : undefined
      return {
        imports: page.slice(0, limit).map(found => describeImport(found)),
        nextCursor: last ? writeCursor(config.SECRETS_KEYS, list, last.id) : null,
      }
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id',
    access: {role: 'operator'},
    params: Id,
    async handle({db, caller: {org}, params: {id}}) {
      const found = await findImport(db, {org, id})
      if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
      return {import: describeImport(found, await listSources(db, found.no))}
    },
  }),
  route({
    method: 'put',
    path: '/orgs/:org/imports/:id/flows',
    access: {role: 'operator'},
    params: Id,
    body: Flows,
    handle({db, caller: {org}, params: {id}, body: flows}) {
      return db.transaction(async tx => {
        const found = await lockOpenImport(tx, {org, importId: id})
        const issues = findIssues(flows, await findKnown(tx, {org, importNo: found.no, connector: found.connectorId}))
        if (issues.length) throw new Refusal('INVALID', 'The flows do not fit the files or the CRM', {issues})
        await setFlows(tx, {no: found.no, flows, state: 'ready'})
        return {flows, state: 'ready'}
      })
    },
  }),
]
