import {z} from 'zod'
import {Name} from '../../shared/files/sources/name.ts'
import {correctRun} from '../../shared/runs/corrections/correct.ts'
import {Answer, Count, Id} from '../answers/common.ts'
import {runId, sourceId} from '../answers/examples.ts'
import {charsetOf} from '../charset.ts'
import {OfImportRun} from '../params.ts'
import {ofReading, ofRecords} from '../refusal-lists.ts'
import {route} from '../route.ts'
import {openUploadedFile} from '../uploaded-file.ts'

const CorrectedRows = Answer({
  run: Id('run', 'The run to retry: the last of the retry chain'),
  source: Id('src', 'The file whose cells were edited'),
  rows: Count('Rows with changed cells'),
  cells: Count('Changed cells'),
  kept: Count('Cells that keep a later edit, because the corrected file did not change them'),
  matchedBy: z
    .enum(['row', 'order', 'key'])
    .describe('How the rows were found: by row number, by order, or by the columns that match records'),
})

export default [
  route({
    method: 'post',
    path: '/orgs/:org/imports/:id/runs/:run/corrections',
    operationId: 'correctImportRun',
    tag: 'Runs',
    access: {role: 'operator'},
    summary: 'Upload corrected rows of a run',
    description: `The body is \`failed.csv\` or the whole file, corrected, as CSV or XLSX. Its rows are matched by the row numbers of failed.csv, else by order if both
files have as many rows, else by the columns that match records. Changed cells become edits of the run's file (\`editCells\`). A cell that the
file did not change keeps an edit that someone made after the download. Then retry the
run with \`retryOf\`: it writes the corrected rows, and no row twice. A file that changes written rows is refused.
If the run read several files, failed.csv names its file in its header. A whole file needs \`source\`.`,
    answers: {200: CorrectedRows},
    refusals: [
      ...([
        'IMPORT_NOT_FOUND',
        'RUN_NOT_FOUND',
        'SOURCE_NOT_FOUND',
        'SOURCE_REQUIRED',
        'DRY_RUN',
        'NO_FILE',
        'IMPORT_RUNNING',
        'RUN_UNDONE',
        'SNAPSHOT_CHANGED',
      ] as const),
      ...([
        'CORRECTION_UNFIT',
        'ENCODING_REQUIRED',
        'BAD_BYTES',
        'FILE_TOO_LARGE',
        'FILE_FORMAT',
        'NOT_A_TABLE',
        'FILE_ENCRYPTED',
        'CONTENT_TYPE',
        'CHARSET_UNKNOWN',
      ] as const),
      ...(['BUSY', 'REQUEST_TIMEOUT'] as const),
      ...ofRecords,
      ...ofReading,
    ],
    example: {answer: {run: runId, source: sourceId, rows: 5, cells: 6, kept: 0, matchedBy: 'row'}},
    sends: [
      {type: 'text/csv', what: 'A CSV file'},
      {type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', what: 'an XLSX workbook'},
    ],
    params: OfImportRun,
    query: z.object({
      source: z
        .string()
        .optional()
        .describe('Id of the file if the run read several. Default: the file that the header of failed.csv names'),
      name: Name.optional().describe('Name of the file'),
    }),
    body: 'stream',
    async handle(input) {
      const {caller, params, query, body} = input
      const sent = await openUploadedFile(body)
      const place = {org: caller.org, importId: params.id, runId: params.run, source: query.source}
      try {
        return await correctRun(input, {...place, charset: charsetOf(sent.contentType), body: sent.body})
      } catch (error) {
        // The sender of a form can read the refusal only if the rest of the form is consumed.
        sent.body.resume()
        throw error
      }
    },
  }),
]
