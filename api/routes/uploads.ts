import {z} from 'zod'
import {ReaderOptions} from '../../shared/files/reader.ts'
import {Name} from '../../shared/files/sources/name.ts'
import {beginUpload} from '../../shared/files/uploads/begin.ts'
import {describeUpload} from '../../shared/files/uploads/describe.ts'
import {findImportForUploads, findImportUpload} from '../../shared/files/uploads/find.ts'
import {finishUpload} from '../../shared/files/uploads/finish.ts'
import {keepPart} from '../../shared/files/uploads/part.ts'
import {deleteUpload, listUnfinished} from '../../sql/uploads.ts'
import {Answer, Bytes, Id, Moment, Removed} from '../answers/common.ts'
import {source} from '../answers/examples.ts'
import {TakenIn} from '../answers/sources.ts'
import {readDigest} from '../digest.ts'
import {OfImport} from '../params.ts'
import {ofReading} from '../refusal-lists.ts'
import {route} from '../route.ts'
import {replyIngested} from '../source-reply.ts'
import {assertNoForm} from '../uploaded-file.ts'

const Upload = Answer({
  id: Id('upl', 'The upload'),
  name: z.string().describe('Name of the file'),
  label: z.string().nullable().describe('Name for the source. Null: the name of the slot, else of the file'),
  slot: z.string().nullable().describe('The template slot to fill. Null: the only free slot, or none'),
  size: Bytes('Size of the whole file'),
  offset: Bytes('Bytes stored; the next part starts here. Equals `size` once complete'),
  partBytes: Bytes('Maximum size of a part'),
  leastPartBytes: Bytes('Minimum size of a part, except the last'),
  source: Id('src', 'The source').nullable().describe('The source it became. Null: not finished'),
  createdAt: Moment('When it was started'),
  expiresAt: Moment('When it is deleted: one day after its last part, or after it was finished'),
}).meta({id: 'Upload', description: 'An upload of a file in parts'})

const UploadAnswer = Answer({upload: Upload})

const NewUpload = z.strictObject({
  name: Name.describe('Name of the file'),
  size: z.int().nonnegative().describe('Size of the whole file, in bytes'),
  label: Name.optional().describe('Name of the source. Default: the name of the slot, else of the file'),
  slot: Name.optional().describe('The slot of the template to fill. Required if the template has several'),
  reader: ReaderOptions.optional().describe('Reader options. Omitted options are detected'),
  sheet: Name.optional().describe('The sheet of a workbook. Short for `reader: {sheet}`'),
})

const OfUpload = OfImport.extend({upload: z.string().describe('The upload')})
const OfPart = OfUpload.extend({
  offset: z
    .string()
    .regex(/^\d{1,15}$/, 'The offset is not a number of bytes')
    .transform(Number)
    .describe('Number of bytes before this part: the `offset` of the upload'),
})

const Otherwise = NewUpload.pick({slot: true, reader: true, sheet: true})

type ReaderChoice = Pick<z.output<typeof NewUpload>, 'reader' | 'sheet'>
const readerOf = ({reader, sheet}: ReaderChoice) => (sheet === undefined ? reader : {...reader, sheet}) as ReaderOptions | undefined

type OfOne = {caller: {org: string}; params: z.output<typeof OfUpload>}
const placeOf = ({caller: {org}, params: {id, upload}}: OfOne) => ({org, importId: id, uploadId: upload})

const example = {
  id: 'upl_01k9m0v6f8e2r4t7w3y5z1a2b3',
  name: 'accounts.csv',
  label: null,
  slot: null,
  size: 73_400_320,
  offset: 0,
  partBytes: 8_388_608,
  leastPartBytes: 1_048_576,
  source: null,
  createdAt: '2026-03-01T08:30:00.000Z',
  expiresAt: '2026-03-02T08:30:00.000Z',
}

export default [
  route({
    method: 'post',
    path: '/orgs/:org/imports/:id/uploads',
    operationId: 'beginUpload',
    tag: 'Files',
    access: {role: 'operator', embed: 'own'},
    summary: 'Start an upload in parts',
    description:
      'Send the parts in order with `PUT …/parts/{offset}`, then `POST …/finish`. After an interruption, continue at the `offset` of the upload.',
    answers: {201: UploadAnswer},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'IMPORT_RUNNING', 'FILE_TOO_LARGE', 'UPLOAD_LIMIT'],
    example: {body: {name: 'accounts.csv', size: 73_400_320}, answer: {upload: example}},
    params: OfImport,
    body: NewUpload,
    status: 201,
    async handle({db, config, caller: {org}, params: {id: importId}, body}) {
      const {sheet: _, ...given} = body
      return {upload: describeUpload(await beginUpload({db, config}, {org, importId, ...given, reader: readerOf(body)}))}
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/uploads',
    operationId: 'listUploads',
    tag: 'Files',
    access: {role: 'operator', embed: 'own'},
    summary: 'List the unfinished uploads of an import',
    answers: {200: Answer({uploads: z.array(Upload).describe('Unfinished uploads, oldest first; at most ten')})},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE'],
    example: {answer: {uploads: [{...example, offset: 16_777_216}]}},
    params: OfImport,
    async handle({db, caller: {org}, params: {id: importId}}) {
      const {no} = await findImportForUploads(db, {org, importId})
      return {uploads: (await listUnfinished(db, no)).map(describeUpload)}
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/uploads/:upload',
    operationId: 'readUpload',
    tag: 'Files',
    access: {role: 'operator', embed: 'own'},
    summary: 'Read the state of an upload',
    answers: {200: UploadAnswer},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'UPLOAD_NOT_FOUND'],
    params: OfUpload,
    handle: async input => ({upload: describeUpload(await findImportUpload(input.db, placeOf(input)))}),
  }),
  route({
    method: 'put',
    path: '/orgs/:org/imports/:id/uploads/:upload/parts/:offset',
    operationId: 'sendUploadPart',
    tag: 'Files',
    access: {role: 'operator', embed: 'own'},
    summary: 'Upload the next part of a file',
    description: `The body is the bytes from \`offset\` on, at most \`partBytes\` and at least \`leastPartBytes\` unless it is the last. A part is stored
whole or not at all. A part that is already stored may be sent again; the response has the \`offset\` to continue at. With
\`Content-Digest: sha-256=:…:\`, the part is stored only if its digest matches.`,
    answers: {200: UploadAnswer},
    refusals: [
      ...([
        'IMPORT_NOT_FOUND',
        'FILE_GONE',
        'UPLOAD_NOT_FOUND',
        'UPLOAD_OFFSET',
        'CONTENT_TYPE',
        'BODY_TOO_LARGE',
        'DIGEST_MISMATCH',
      ] as const),
    ],
    sends: {type: 'application/octet-stream', what: 'The bytes of the part'},
    example: {params: {offset: '0'}, answer: {upload: {...example, offset: 8_388_608}}},
    params: OfPart,
    body: 'stream',
    async handle(input) {
      const {body, params, request} = input
      assertNoForm(body)
      const sent = {offset: params.offset, body, sha256: readDigest(request.headers)}
      return {upload: describeUpload(await keepPart(input, placeOf(input), sent))}
    },
  }),
  route({
    method: 'post',
    path: '/orgs/:org/imports/:id/uploads/:upload/finish',
    operationId: 'finishUpload',
    tag: 'Files',
    access: {role: 'operator', embed: 'own'},
    mayRefuseAfterChange: true,
    summary: 'Finish an upload',
    description: `Returns what \`POST …/sources\` returns. Finishing again returns the same source, for one day. A refused file stays uploaded: send
other reader options or another slot here instead of uploading it again.`,
    answers: {201: TakenIn},
    refusals: [
      ...(['IMPORT_NOT_FOUND', 'FILE_GONE', 'UPLOAD_NOT_FOUND', 'UPLOAD_INCOMPLETE', 'IMPORT_RUNNING', 'SOURCE_NOT_FOUND'] as const),
      ...(['FILE_TOO_LARGE', 'FILE_FORMAT', 'NOT_A_TABLE', 'FILE_ENCRYPTED', 'FAILED_FILE', 'BUSY'] as const),
      ...ofReading,
    ],
    example: {body: {sheet: 'Companies'}, answer: {source}},
    params: OfUpload,
    body: Otherwise,
    status: 201,
    async handle(input) {
      const {source, filled} = await finishUpload(input, placeOf(input), {slot: input.body.slot, reader: readerOf(input.body)})
      return replyIngested(input, {source, filled})
    },
  }),
  route({
    method: 'delete',
    path: '/orgs/:org/imports/:id/uploads/:upload',
    operationId: 'giveUpUpload',
    tag: 'Files',
    access: {role: 'operator', embed: 'own'},
    summary: 'Cancel an upload',
    description: 'Deletes the parts sent so far. The source of a finished upload stays.',
    answers: {200: Removed('upl', 'The deleted upload')},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'UPLOAD_NOT_FOUND'],
    params: OfUpload,
    async handle(input) {
      await deleteUpload(input.db, (await findImportUpload(input.db, placeOf(input))).no)
      return {removed: input.params.upload}
    },
  }),
]
