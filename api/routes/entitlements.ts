import {z} from 'zod'
import {assertWritable} from '../../shared/connectors/writing.ts'
import {readEntitlements, readUsage} from '../../shared/entitlements/describe.ts'
import {startTrial} from '../../shared/entitlements/trial.ts'
import {Refusal} from '../../shared/errors.ts'
import {authorise} from '../../shared/runs/authorise.ts'
import {templateFor} from '../../shared/templates/authorise.ts'
import {findConnector} from '../../sql/connectors.ts'
import {lockImport} from '../../sql/imports.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/entitlements/me',
    access: {role: 'operator'},
    handle: ({db, caller: {org}}) => readEntitlements(db, org),
  }),

  route({
    method: 'get',
    path: '/entitlements/usage',
    access: {role: 'operator'},
    handle: ({db, caller: {org}}) => readUsage(db, org),
  }),

  route({
    method: 'post',
    path: '/orgs/:org/trial',
    access: {role: 'owner'},
    async handle({db, caller}) {
      await startTrial(db, caller)
      return readEntitlements(db, caller.org)
    },
  }),

  route({
    method: 'post',
    path: '/entitlements/runs/authorise',
    access: {role: 'operator'},
    body: z.strictObject({
      declaredRows: z.int().min(1).max(1_000_000_000),
      importId: z.string().optional(),
      connectorId: z.string().optional(),
      templateId: z.string().nullish(),
    }),
    handle({db, caller: {org, person, role}, body: {declaredRows, importId, connectorId, templateId}}) {
      return db.transaction(async tx => {
        const found = importId === undefined ? null : await lockImport(tx, {org, id: importId})
        if (importId !== undefined && !found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
        if (found?.state === 'expired') throw new Refusal('FILE_GONE', 'This import has expired: make a new one')
        const connector = found?.connectorId ?? connectorId ?? null
        if (connector !== null && !(await findConnector(tx, {org, id: connector})))
          throw new Refusal('CONNECTION_NOT_FOUND', 'No such connection')
        if (connector !== null) await assertWritable(tx, {org, connector})
        const template = await templateFor(tx, {org, person, rank: role, id: templateId, found})
        return authorise(tx, {org, person, declaredRows, connector, importNo: found?.no ?? null, template})
      })
    },
  }),
]
