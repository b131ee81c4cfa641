import type {IncomingMessage} from 'node:http'
import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {ChoiceChanges} from '../../shared/imports/choices.ts'
import {Cleaning} from '../../shared/imports/cleaning.ts'
import {ReaderOptions} from '../../shared/imports/reader.ts'
import {editSource} from '../../shared/sources/edit.ts'
import {findImportSource} from '../../shared/sources/find.ts'
import {Name} from '../../shared/sources/name.ts'
import {removeSource} from '../../shared/sources/remove.ts'
import {takeFile} from '../../shared/templates/fill.ts'
import {source, sourceId} from '../answers/examples.ts'
import {Removed} from '../answers/imports.ts'
import {PreviewRows, SourceAnswer, TakenIn} from '../answers/sources.ts'
import {readJson} from '../body.ts'
import {charsetOf} from '../charset.ts'
import {limitOf} from '../paging.ts'
import {OfImport, OfSource} from '../params.ts'
import {ofReading, ofReadingAgain} from '../refusal-lists.ts'
import {replyJson} from '../reply.ts'
import {route} from '../route.ts'
import {openSentFile} from '../sent-file.ts'
import {replySource, replyTaken} from '../source-reply.ts'

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

const Again = z.strictObject({
  fromSource: z.string().describe('A workbook that is here already'),
  sheet: z.string().min(1).max(255).describe('The sheet of it that is read'),
  label: Name.optional().describe('What people call it'),
})

/** For the reference alone: the form is read as a stream. */
const Form = z.strictObject({file: z.file().describe('The file; its name is taken from the part unless the query names it')})

type OfOne = {caller: {org: string}; params: z.output<typeof OfSource>}
const placeOf = ({caller: {org}, params: {id, source}}: OfOne) => ({org, importId: id, sourceId: source})

const Changes = z
  .strictObject({
    label: Name.describe('What people call it'),
    reader: ReaderOptions.describe('How the file is read; what is left out stays'),
    cleaning: Cleaning,
    choices: ChoiceChanges,
  })
  .partial()
  .refine(changes => Object.keys(changes).length > 0, 'Name what to change: label, reader, cleaning or choices')

export default [
  route({
    method: 'post',
    path: '/orgs/:org/imports/:id/sources',
    access: {role: 'operator'},
    summary: 'Send a file to an import',
    description: `The body is the file itself, CSV or XLSX, under any media type but \`application/json\`; or a form (\`multipart/form-data\`) whose only part is
named \`file\`, such as \`curl -F file=@accounts.csv\` sends. Any other multipart body is \`CONTENT_TYPE\`. The file is read to its end: the answer says what
was seen in each column, and what a person should decide.

The encoding of CSV is the reader option \`encoding\`, else what a byte order mark says, else the \`charset\` of the content type. Without them
the file is UTF-8 if its bytes are. Otherwise \`problems\` has the kind \`encoding\` and \`text.candidates\` shows samples: the import does not run
until \`PATCH\` states an encoding.

A body of \`application/json\`, \`{"fromSource": "src_…", "sheet": "…", "label": "…"}\`, reads another sheet of a workbook that is here already.
Large files can be sent in parts: \`POST …/uploads\`.`,
    answers: {201: TakenIn},
    refusals: [
      ...([
        'IMPORT_NOT_FOUND',
        'SOURCE_NOT_FOUND',
        'FILE_GONE',
        'IMPORT_RUNNING',
        'FILE_TOO_LARGE',
        'FILE_FORMAT',
        'NOT_A_TABLE',
        'FILE_ENCRYPTED',
      ] as const),
      ...(['BUSY', 'BAD_JSON', 'BODY_TOO_LARGE', 'CONTENT_TYPE', 'CHARSET_UNKNOWN', 'REQUEST_TIMEOUT'] as const),
      ...ofReading,
    ],
    example: {query: {name: 'accounts.csv', reader: '{"delimiter":","}'}, answer: {source}},
    sends: [
      {type: 'text/csv', what: 'A file of CSV'},
      {type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', what: 'a workbook'},
      {type: 'multipart/form-data', what: 'a form with one of these as its only part', schema: Form},
      {type: 'application/json', what: 'or another sheet of a workbook that is here', schema: Again},
    ],
    params: OfImport,
    query: z.object({
      name: Name.optional().describe('What the file is called: the name in the form, or `file.csv`, if left out'),
      label: Name.optional().describe('What people call it; its name where it is left out'),
      sheet: Name.optional().describe('Of a workbook, the sheet that is read; the first visible one that has rows where it is left out'),
      slot: Name.optional().describe('The slot of the template it is for; need not be named where there is one'),
      reader: Reading.optional().describe(
        'As JSON, how the file is read: `ReaderOptions`. What is left out is sniffed: the encoding from the whole file, the rest from its first 64 KiB',
      ),
    }),
    body: 'stream',
    status: 201,
    async handle(input) {
      const {query, body} = input
      const {label, sheet, slot, reader} = query
      const again = await readAgain(body)
      const sent = await openSentFile(body)
      const name = query.name ?? sent.name ?? 'file.csv'
      const stated = (sheet === undefined ? reader : {...reader, sheet}) as ReaderOptions | undefined
      try {
        const file = again ?? {name, label, reader: stated, charset: charsetOf(sent.contentType), body: sent.body}
        return await replyTaken(input, await takeFile(input, {org: input.caller.org, importId: input.params.id}, slot, file))
      } catch (error) {
        // The sender of a form hears a refusal only if the rest of the form is read.
        sent.body.resume()
        throw error
      }
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/sources/:source',
    access: {role: 'operator'},
    summary: 'Read a file of an import, with what was seen in it',
    answers: {200: SourceAnswer},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'SOURCE_NOT_FOUND'],
    example: {answer: {source}},
    params: OfSource,
    handle: async input => replySource(input, (await findImportSource(input.db, placeOf(input))).source),
  }),
  route({
    method: 'patch',
    path: '/orgs/:org/imports/:id/sources/:source',
    access: {role: 'operator'},
    summary: 'Change how a file is read, cleaned or called',
    description:
      'Under another reader or cleaning the file is read anew to its end; a reading that fails changes nothing. Runs keep what they began with.',
    answers: {200: SourceAnswer},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'SOURCE_NOT_FOUND', 'IMPORT_RUNNING', 'BUSY', ...ofReading],
    example: {body: {cleaning: [{step: 'trim'}]}, answer: {source}},
    params: OfSource,
    body: Changes,
    handle: async input => replySource(input, await editSource(input, placeOf(input), input.body)),
  }),
  route({
    method: 'delete',
    path: '/orgs/:org/imports/:id/sources/:source',
    access: {role: 'operator'},
    summary: 'Remove a file from an import',
    description: 'Flows over it stay as they are, and the import is a draft until they are set anew.',
    answers: {200: Removed('src', 'The file that is no more')},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'SOURCE_NOT_FOUND', 'IMPORT_RUNNING'],
    example: {answer: {removed: sourceId}},
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
    summary: 'Read rows of a file as they are read and cleaned',
    answers: {200: PreviewRows},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'SOURCE_NOT_FOUND', 'BUSY', ...ofReadingAgain],
    example: {
      query: {from: '17', limit: '1'},
      answer: {
        ...{columns: ['Company', 'Web'], fileColumns: ['Company', 'Web'], nextFrom: 18},
        rows: [
          {
            rowNumber: 17,
            values: ['Example Ltd', 'www.example.org'],
            raw: ['Example Ltd ', 'www.example.org'],
            ragged: false,
            struck: null,
          },
        ],
      },
    },
    params: OfSource,
    query: z.object({
      from: limitOf({usual: 1, most: 2 ** 31, what: 'The number of the first row'}),
      limit: limitOf({usual: 50, most: 200}),
    }),
    async handle(input) {
      const {source} = await findImportSource(input.db, placeOf(input))
      return replyJson(await input.parsing.run(input.caller.org, 'preview', {source, page: input.query}))
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
