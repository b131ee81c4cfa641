import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {addSource} from '../../shared/runs/add-source.ts'
import {describeSource} from '../../shared/runs/describe-import.ts'
import {findImport} from '../../sql/imports.ts'
import {findSource} from '../../sql/sources.ts'
import {route} from '../route.ts'

const Name = z
  .string()
  .min(1)
  .max(255)
  .refine(text => !/\p{Cc}/u.test(text) && text.isWellFormed(), 'No control characters')

export default [
  route({
    method: 'post',
    path: '/orgs/:org/imports/:id/sources',
    access: {role: 'operator'},
    params: z.object({org: z.string(), id: z.string()}),
    query: z.object({name: Name.default('file.csv'), label: Name.optional()}),
    body: 'stream',
    status: 201,
    async handle({db, storage, config, caller: {org}, params: {id}, query: {name, label}, body}) {
      const source = await addSource({db, storage, config}, {org, importId: id, name, label: label ?? name, body})
      return {source: describeSource(source)}
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/sources/:source',
    access: {role: 'operator'},
    params: z.object({org: z.string(), id: z.string(), source: z.string()}),
    async handle({db, caller: {org}, params}) {
      const found = await findImport(db, {org, id: params.id})
      if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
      const source = await findSource(db, {importNo: found.no, id: params.source})
      if (!source) throw new Refusal('SOURCE_NOT_FOUND', 'The import has no such file')
      return {source: describeSource(source)}
    },
  }),
]
