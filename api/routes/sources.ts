import type {IncomingMessage} from 'node:http'
import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {ChoiceChanges} from '../../shared/imports/choices.ts'
import {Cleaning} from '../../shared/imports/cleaning.ts'
import {ReaderOptions} from '../../shared/imports/reader.ts'
import {describeSource} from '../../shared/sources/describe.ts'
import {editSource} from '../../shared/sources/edit.ts'
import {findImportSource} from '../../shared/sources/find.ts'
import {removeSource} from '../../shared/sources/remove.ts'
import {previewRows} from '../../shared/sources/rows.ts'
import {takeFile} from '../../shared/templates/fill.ts'
import {readJson} from '../body.ts'
import {limitOf} from '../page.ts'
import {route} from '../route.ts'

const Name = z
  .string()
  .min(1)
  .max(255)
  .refine(text => !/\p{Cc}/u.test(text) && text.isWellFormed(), 'No control characters')

/** Options of a reader as JSON in a query: what would otherwise be sniffed. */
const Reading = z
  .string()
  .transform((text, ctx) => {
    try {
      return JSON.parse(text)
    } catch {
      ctx.addIssue({code: 'custom', message: 'Reader options as JSON, such as {"delimiter":";"}'})
      return z.NEVER
    }
  })
  .pipe(ReaderOptions)

const Again = z.strictObject({fromSource: z.string(), sheet: z.string().min(1).max(255), label: Name.optional()})

const OfSource = z.object({org: z.string(), id: z.string(), source: z.string()})
type OfOne = {caller: {org: string}; params: z.output<typeof OfSource>}
const placeOf = ({caller: {org}, params: {id, source}}: OfOne) => ({org, importId: id, sourceId: source})

const Changes = z
  .strictObject({label: Name, reader: ReaderOptions, cleaning: Cleaning, choices: ChoiceChanges})
  .partial()
  .refine(changes => Object.keys(changes).length > 0, 'Name what to change: label, reader, cleaning or choices')

export default [
  route({
    method: 'post',
    path: '/orgs/:org/imports/:id/sources',
    access: {role: 'operator'},
    params: z.object({org: z.string(), id: z.string()}),
    query: z.object({
      name: Name.optional(),
      label: Name.optional(),
      sheet: Name.optional(),
      slot: Name.optional(),
      reader: Reading.optional(),
    }),
    body: 'stream',
    status: 201,
    async handle({db, storage, config, caller: {org}, params: {id: importId}, query, body}) {
      const {name = 'file.csv', label, sheet, slot, reader} = query
      const stated = (sheet === undefined ? reader : {...reader, sheet}) as ReaderOptions | undefined
      const file = (await readAgain(body)) ?? {name, label, reader: stated, body}
      const {source, filled} = await takeFile({db, storage, config}, {org, importId}, slot, file)
      return {source: describeSource(source), ...(filled && {filled})}
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/sources/:source',
    access: {role: 'operator'},
    params: OfSource,
    handle: async input => ({source: describeSource((await findImportSource(input.db, placeOf(input))).source)}),
  }),
  route({
    method: 'patch',
    path: '/orgs/:org/imports/:id/sources/:source',
    access: {role: 'operator'},
    params: OfSource,
    body: Changes,
    handle: async input => ({source: describeSource(await editSource(input, placeOf(input), input.body))}),
  }),
  route({
    method: 'delete',
    path: '/orgs/:org/imports/:id/sources/:source',
    access: {role: 'operator'},
    params: OfSource,
    async handle(input) {
      await removeSource(input, placeOf(input))
      return {removed: input.params.source}
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/sources/:source/rows',
    access: {role: 'operator'},
    params: OfSource,
    query: z.object({from: limitOf({usual: 1, most: 2 ** 31}), limit: limitOf({usual: 50, most: 200})}),
    async handle(input) {
      const {source} = await findImportSource(input.db, placeOf(input))
      return previewRows(input, source, input.query)
    },
  }),
]

/** A body of JSON names a sheet of a workbook that is here already; every other body is a file. */
const readAgain = async (body: IncomingMessage) => {
  if (!/^application\/json\b/i.test(body.headers['content-type'] ?? '')) return null
  const {data, error} = Again.safeParse(await readJson(body))
  if (error) throw new Refusal('INVALID', 'The request does not fit: fromSource and sheet name a sheet to read', {issues: error.issues})
  return data
}
