import type {IncomingMessage} from 'node:http'
import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {ChoiceChanges} from '../../shared/files/choices.ts'
import {Cleaning} from '../../shared/files/cleaning/cleaning.ts'
import {CellChanges} from '../../shared/files/cleaning/edit-cells.ts'
import {ReaderOptions} from '../../shared/files/reader.ts'
import {editSource} from '../../shared/files/sources/edit.ts'
import {findImportSource} from '../../shared/files/sources/find.ts'
import {Name} from '../../shared/files/sources/name.ts'
import {removeSource} from '../../shared/files/sources/remove.ts'
import {addFile} from '../../shared/mapping/templates/fill-slots.ts'
import {Answer, Removed} from '../answers/common.ts'
import {source, sourceId} from '../answers/examples.ts'
import {RowNumber, Source, TakenIn} from '../answers/sources.ts'
import {readJson} from '../body.ts'
import {charsetOf} from '../charset.ts'
import {limitOf} from '../paging.ts'
import {OfImport, OfSource, RowNumbers} from '../params.ts'
import {ofReading, ofReadingAgain} from '../refusal-lists.ts'
import {replyJson} from '../reply.ts'
import {route} from '../route.ts'
import {replyIngested, replySource} from '../source-reply.ts'
import {openUploadedFile} from '../uploaded-file.ts'

const SourceAnswer = Answer({source: Source})

const PreviewRow = Answer({
  rowNumber: RowNumber('Number of the row'),
  values: z.array(z.string()).describe('Its cells after cleaning, in the order of `columns`'),
  raw: z.array(z.string()).describe('Its cells in the file, in the order of `fileColumns`'),
  ragged: z.boolean().describe('Whether it does not fit the header, or has an open quote'),
  openQuote: z.literal(true).optional().describe('Whether a cell of several lines has a quote that seems not to be closed'),
  struck: z.string().nullable().describe('Why cleaning excluded the row. Null: it did not'),
})

const HeaderCandidate = Answer({
  cells: z.array(z.string()).describe('Its cells: at most 100, each cut after 100 characters'),
  header: z.boolean().describe('Whether the file is read with this row as its header'),
  reader: ReaderOptions.describe('The options that make this row the header. Send them as `reader` of the file'),
})

const PreviewRows = Answer({
  columns: z.array(z.string()).describe('Columns after cleaning'),
  fileColumns: z.array(z.string()).describe('Columns of the file'),
  rows: z.array(PreviewRow).describe('The rows, in order. Fewer than `limit` if their cells have more than 4,194,304 characters in total'),
  nextFrom: RowNumber('The next `from`').nullable().describe('Send it as `from` to get the next rows. Null: this is the last page'),
})

/** Reader options as JSON in a query parameter. They replace detected values. */
const Reading = z
  .string()
  .transform((text, ctx) => {
    try {
      return JSON.parse(text)
    } catch {
      ctx.addIssue({code: 'custom', message: 'The reader options are not JSON. Send JSON such as {"delimiter":";"}'})
      return z.NEVER
    }
  })
  .pipe(ReaderOptions)

const Again = z.strictObject({
  fromSource: z.string().describe('A source whose workbook is already uploaded'),
  sheet: z.string().min(1).max(255).describe('The sheet to read'),
  label: Name.optional().describe('The name shown to users'),
})

/** The schema of the form, which only the API reference uses, because the form is read as a stream. */
const Form = z.strictObject({file: z.file().describe('The file; its name is taken from the part unless the query names it')})

type OfOne = {caller: {org: string}; params: z.output<typeof OfSource>}
const placeOf = ({caller: {org}, params: {id, source}}: OfOne) => ({org, importId: id, sourceId: source})

const Changes = z
  .strictObject({
    label: Name.describe('The name shown to users'),
    reader: ReaderOptions.describe('How the file is read. Omitted options stay'),
    cleaning: Cleaning,
    choices: ChoiceChanges,
  })
  .partial()
  .refine(changes => Object.keys(changes).length > 0, 'Send at least one of label, reader, cleaning and choices')

export default [
  route({
    method: 'post',
    path: '/orgs/:org/imports/:id/sources',
    operationId: 'sendSource',
    tag: 'Files',
    access: {role: 'operator', embed: 'own'},
    mayRefuseAfterChange: true,
    summary: 'Upload a file to an import',
    description: `The body is the file itself, CSV or XLSX, under any media type but \`application/json\`; or a form (\`multipart/form-data\`) whose only part is
named \`file\`, such as \`curl -F file=@accounts.csv\` sends. Any other multipart body is \`CONTENT_TYPE\`. The whole file is read. The response describes
each column and lists decisions for a person to make.

The encoding of CSV is the reader option \`encoding\`, else that of a byte order mark, else the \`charset\` of the content type. Without them
the file is UTF-8 if its bytes are. Otherwise \`problems\` has the kind \`encoding\` and \`text.candidates\` shows samples: the import does not run
until \`PATCH\` states an encoding.

A body of \`application/json\`, \`{"fromSource": "src_…", "sheet": "…", "label": "…"}\`, reads another sheet of a workbook that is already uploaded.
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
        'FAILED_FILE',
      ] as const),
      ...(['BUSY', 'BAD_JSON', 'BODY_TOO_LARGE', 'CONTENT_TYPE', 'CHARSET_UNKNOWN', 'REQUEST_TIMEOUT'] as const),
      ...ofReading,
    ],
    example: {query: {name: 'accounts.csv', reader: '{"delimiter":","}'}, answer: {source}},
    sends: [
      {type: 'text/csv', what: 'A CSV file'},
      {type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', what: 'an XLSX workbook'},
      {type: 'multipart/form-data', what: 'a form whose only part is one of these', schema: Form},
      {type: 'application/json', what: 'or a reference to another sheet of an uploaded workbook', schema: Again},
    ],
    params: OfImport,
    query: z.object({
      name: Name.optional().describe('Name of the file. Default: the name in the form, or `file.csv`'),
      label: Name.optional().describe('The name shown to users. Default: the name of the file'),
      sheet: Name.optional().describe('The sheet of a workbook to read. Default: the first visible sheet with rows'),
      slot: Name.optional().describe('The slot of the template to fill. Required if the template has several'),
      reader: Reading.optional().describe(
        'Reader options as JSON: `ReaderOptions`. Omitted options are detected: the encoding and `apostrophes` from the whole file, the rest from its first 64 KiB',
      ),
    }),
    body: 'stream',
    status: 201,
    async handle(input) {
      const {query, body} = input
      const {label, sheet, slot, reader} = query
      const again = await readAgain(body)
      const sent = await openUploadedFile(body)
      const name = query.name ?? sent.name ?? 'file.csv'
      const stated = (sheet === undefined ? reader : {...reader, sheet}) as ReaderOptions | undefined
      try {
        const file = again ?? {name, label, reader: stated, charset: charsetOf(sent.contentType), body: sent.body}
        return await replyIngested(input, await addFile(input, {org: input.caller.org, importId: input.params.id}, slot, file))
      } catch (error) {
        // The sender of a form can read the refusal only if the rest of the form is consumed.
        sent.body.resume()
        throw error
      }
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/sources/:source',
    operationId: 'readSource',
    tag: 'Files',
    access: {role: 'operator', embed: 'own'},
    summary: 'Read a file of an import with its columns',
    answers: {200: SourceAnswer},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'SOURCE_NOT_FOUND'],
    example: {answer: {source}},
    params: OfSource,
    handle: async input => replySource(input, (await findImportSource(input.db, placeOf(input))).source),
  }),
  route({
    method: 'patch',
    path: '/orgs/:org/imports/:id/sources/:source',
    operationId: 'changeSource',
    tag: 'Files',
    access: {role: 'operator', embed: 'own'},
    summary: 'Change how a file is read, cleaned or named',
    description: `A new reader or cleaning reads the whole file again. If that fails, nothing changes. Existing runs are not affected.

\`cleaning\` replaces all steps but \`editCells\`: edits of cells stay, unless \`cleaning\` has a step \`editCells\`, which replaces them.
Null values in \`PATCH …/cells\` remove edits.`,
    answers: {200: SourceAnswer},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'SOURCE_NOT_FOUND', 'IMPORT_RUNNING', 'FAILED_FILE', 'BUSY', ...ofReading],
    example: {body: {cleaning: [{step: 'trim'}]}, answer: {source}},
    params: OfSource,
    body: Changes,
    handle: async input => replySource(input, await editSource(input, placeOf(input), input.body)),
  }),
  route({
    method: 'patch',
    path: '/orgs/:org/imports/:id/sources/:source/cells',
    operationId: 'editCells',
    tag: 'Files',
    access: {role: 'operator', embed: 'own'},
    summary: 'Edit cells of a file',
    description: `Edits are kept in the cleaning step \`editCells\`, which is always the last step. Checks, dry runs, runs and retries use the edited values; the
file itself is not changed. A file can have 10,000 edited cells. Templates do not keep edits, and a change of the reader removes them.`,
    answers: {200: SourceAnswer},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'SOURCE_NOT_FOUND', 'IMPORT_RUNNING', 'BUSY', ...ofReading],
    example: {body: {cells: [{row: 17, column: 'Web', value: 'www.example.com'}]}, answer: {source}},
    params: OfSource,
    body: z.strictObject({cells: CellChanges}),
    handle: async input => replySource(input, await editSource(input, placeOf(input), {cells: input.body.cells})),
  }),
  route({
    method: 'delete',
    path: '/orgs/:org/imports/:id/sources/:source',
    operationId: 'removeSource',
    tag: 'Files',
    access: {role: 'operator', embed: 'own'},
    summary: 'Remove a file from an import',
    description: 'Flows that use the file stay, and the import is a draft until they are set again.',
    answers: {200: Removed('src', 'The removed file')},
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
    path: '/orgs/:org/imports/:id/sources/:source/top',
    operationId: 'readSourceTop',
    tag: 'Files',
    access: {role: 'operator', embed: 'own'},
    summary: 'Read the first rows of a file, to choose its header',
    description: 'Returns rows above the header too, as the file holds them. Cleaning is not applied.',
    answers: {200: Answer({rows: z.array(HeaderCandidate).describe('The first non-empty rows of the file, at most 30')})},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'SOURCE_NOT_FOUND', 'BUSY', ...ofReadingAgain],
    example: {
      answer: {
        rows: [
          {cells: ['Customers of March'], header: false, reader: {skipRows: 0, headerRow: true}},
          {cells: ['Company', 'Web'], header: true, reader: {skipRows: 1, headerRow: true}},
        ],
      },
    },
    params: OfSource,
    async handle(input) {
      const {source} = await findImportSource(input.db, placeOf(input))
      return {rows: await input.parsing.run(input.caller.org, 'headerCandidates', source)}
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/sources/:source/rows',
    operationId: 'readSourceRows',
    tag: 'Files',
    access: {role: 'operator', embed: 'own'},
    summary: 'Preview rows of a file, parsed and cleaned',
    answers: {200: PreviewRows},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'SOURCE_NOT_FOUND', 'BUSY', ...ofReadingAgain],
    example: {
      query: {from: '17', limit: '1'},
      answer: {
        columns: ['Company', 'Web'],
        fileColumns: ['Company', 'Web'],
        nextFrom: 18,
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
      from: limitOf({usual: 1, most: 2 ** 31, what: 'Number of the first row'}),
      limit: limitOf({usual: 50, most: 200}),
      numbers: RowNumbers.optional().describe('Numbers of the only rows to return, separated by commas. `limit` does not apply'),
    }),
    async handle(input) {
      const {source} = await findImportSource(input.db, placeOf(input))
      return replyJson(await input.parsing.run(input.caller.org, 'preview', {source, page: input.query}))
    },
  }),
]

/**
 * Returns the JSON body, which names another sheet of an uploaded workbook. Returns null for any other content type, because that body is a new
 * file.
 */
const readAgain = async (body: IncomingMessage) => {
  if (!/^application\/json\b/i.test(body.headers['content-type'] ?? '')) return null
  const {data, error} = Again.safeParse(await readJson(body))
  if (error) throw new Refusal('INVALID', 'The request does not match its schema. Send fromSource and sheet', {issues: error.issues})
  return data
}
