import {z} from 'zod'
import {Answer, Bytes, Id, Moment} from './common.ts'

export const Upload = Answer({
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

export const UploadAnswer = Answer({upload: Upload})
