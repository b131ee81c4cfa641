import {z} from 'zod'
import {ReaderOptions} from '../../shared/imports/reader.ts'
import {Name} from '../../shared/sources/name.ts'
import {beginUpload} from '../../shared/uploads/begin.ts'
import {describeUpload} from '../../shared/uploads/describe.ts'
import {findImportForUploads, findImportUpload} from '../../shared/uploads/find.ts'
import {finishUpload} from '../../shared/uploads/finish.ts'
import {keepPart} from '../../shared/uploads/part.ts'
import {deleteUpload, listUnfinished} from '../../sql/uploads.ts'
import {Answer} from '../answers/common.ts'
import {source} from '../answers/examples.ts'
import {Removed} from '../answers/imports.ts'
import {TakenIn} from '../answers/sources.ts'
import {Upload, UploadAnswer} from '../answers/uploads.ts'
import {readDigest} from '../digest.ts'
import {OfImport} from '../params.ts'
import {ofReading} from '../refusal-lists.ts'
import {route} from '../route.ts'
import {assertNoForm} from '../sent-file.ts'
import {replyTaken} from '../source-reply.ts'

const NewUpload = z.strictObject({
  name: Name.describe('What the file is called'),
  size: z.int().nonnegative().describe('The whole file, in bytes'),
  label: Name.optional().describe('What its source is called; by default as the slot is, else as the file'),
  slot: Name.optional().describe('The slot of the template the file is for; need not be named where there is one'),
  reader: ReaderOptions.optional().describe('How the file is read, where that is not to be found out from its first bytes'),
  sheet: Name.optional().describe('The sheet of a workbook; short for `reader: {sheet}`'),
})

const OfUpload = OfImport.extend({upload: z.string().describe('The upload')})
const OfPart = OfUpload.extend({
  offset: z
    .string()
    .regex(/^\d{1,15}$/, 'The number of bytes before this part')
    .transform(Number)
    .describe('How many bytes of the file come before this part: the `offset` of the upload'),
})

const Otherwise = NewUpload.pick({slot: true, reader: true, sheet: true})

type How = Pick<z.output<typeof NewUpload>, 'reader' | 'sheet'>
const readerOf = ({reader, sheet}: How) => (sheet === undefined ? reader : {...reader, sheet}) as ReaderOptions | undefined

type OfOne = {caller: {org: string}; params: z.output<typeof OfUpload>}
const placeOf = ({caller: {org}, params: {id, upload}}: OfOne) => ({org, importId: id, uploadId: upload})

const example = {
  id: 'upl_01k9m0v6f8e2r4t7w3y5z1a2b3',
  ...{name: 'accounts.csv', label: null, slot: null, size: 73_400_320, offset: 0, partBytes: 8_388_608, leastPartBytes: 1_048_576},
  ...{source: null, createdAt: '2026-03-01T08:30:00.000Z', expiresAt: '2026-03-02T08:30:00.000Z'},
}

export default [
  route({
    method: 'post',
    path: '/orgs/:org/imports/:id/uploads',
    access: {role: 'operator'},
    summary: 'Begin a file that is sent in parts',
    description:
      'Send the parts in order with `PUT …/parts/{offset}`, then `POST …/finish`. Whatever breaks off goes on at the `offset` of the upload.',
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
    access: {role: 'operator'},
    summary: 'List the files that are being sent to an import',
    answers: {200: Answer({uploads: z.array(Upload).describe('Those that are not finished, the first begun first; ten at most')})},
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
    access: {role: 'operator'},
    summary: 'Read how much of a file is kept',
    answers: {200: UploadAnswer},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'UPLOAD_NOT_FOUND'],
    params: OfUpload,
    handle: async input => ({upload: describeUpload(await findImportUpload(input.db, placeOf(input)))}),
  }),
  route({
    method: 'put',
    path: '/orgs/:org/imports/:id/uploads/:upload/parts/:offset',
    access: {role: 'operator'},
    summary: 'Send the next part of a file',
    description: `The body is the bytes from \`offset\` on, at most \`partBytes\` and at least \`leastPartBytes\` unless it is the last. A part is kept
whole or not at all. A part that is kept already may be sent again: the answer tells the \`offset\` to go on at. With
\`Content-Digest: sha-256=:…:\` it is kept only if its bytes have that digest.`,
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
    access: {role: 'operator'},
    summary: 'Take a file in whose parts have all come',
    description: `Answers as \`POST …/sources\` does. Finishing again answers the same source, for a day. A file that is refused is kept as it was
sent: where it has to be read otherwise, or is for another slot, say so here instead of sending it again.`,
    answers: {201: TakenIn},
    refusals: [
      ...(['IMPORT_NOT_FOUND', 'FILE_GONE', 'UPLOAD_NOT_FOUND', 'UPLOAD_INCOMPLETE', 'IMPORT_RUNNING', 'SOURCE_NOT_FOUND'] as const),
      ...(['FILE_TOO_LARGE', 'FILE_FORMAT', 'NOT_A_TABLE', 'FILE_ENCRYPTED', 'BUSY'] as const),
      ...ofReading,
    ],
    example: {body: {sheet: 'Companies'}, answer: {source}},
    params: OfUpload,
    body: Otherwise,
    status: 201,
    async handle(input) {
      const {source, filled} = await finishUpload(input, placeOf(input), {slot: input.body.slot, reader: readerOf(input.body)})
      return replyTaken(input, {source, filled})
    },
  }),
  route({
    method: 'delete',
    path: '/orgs/:org/imports/:id/uploads/:upload',
    access: {role: 'operator'},
    summary: 'Give up a file that is being sent',
    description: 'What came of it is removed. The source of one that was finished stays.',
    answers: {200: Removed('upl', 'The upload that is no more')},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'UPLOAD_NOT_FOUND'],
    params: OfUpload,
    async handle(input) {
      await deleteUpload(input.db, (await findImportUpload(input.db, placeOf(input))).no)
      return {removed: input.params.upload}
    },
  }),
]
