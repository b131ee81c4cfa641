import {z} from 'zod'
import {assertWritable} from '../../shared/connectors/writing.ts'
import {Refusal} from '../../shared/errors.ts'
import {authorise} from '../../shared/runs/authorise.ts'
import {findConnector} from '../../sql/connectors.ts'
import {lockImport} from '../../sql/imports.ts'
import {route} from '../route.ts'

export default [
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
    handle({db, caller: {org, person}, body: {declaredRows, importId, connectorId, templateId}}) {
      // Nobody can make one yet.
      if (templateId != null) throw new Refusal('NOT_FOUND', 'No such template')
      return db.transaction(async tx => {
        const found = importId === undefined ? null : await lockImport(tx, {org, id: importId})
        if (importId !== undefined && !found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
        const connector = found?.connectorId ?? connectorId ?? null
        if (connector !== null && !(await findConnector(tx, {org, id: connector})))
          throw new Refusal('CONNECTION_NOT_FOUND', 'No such connection')
        if (connector !== null) await assertWritable(tx, {org, connector})
        return authorise(tx, {org, person, declaredRows, connector, importNo: found?.no ?? null})
      })
    },
  }),
]
