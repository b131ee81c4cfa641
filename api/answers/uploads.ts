import {z} from 'zod'
import {Answer, Bytes, Id, Moment} from './common.ts'

export const Upload = Answer({
  id: Id('upl', 'The upload'),
  name: z.string().describe('What the file is called'),
  label: z.string().nullable().describe("What its source is to be called; null: as the slot is, else the file's name"),
  slot: z.string().nullable().describe('The slot of a template it is for; null: the only one that is free, or none'),
  size: Bytes('The whole file'),
  offset: Bytes('What is kept of it: the next part begins there. As large as `size` once all of it has come'),
  partBytes: Bytes('The most one part may have'),
  leastPartBytes: Bytes("The least one part may have, unless it is the file's last"),
  source: Id('src', 'What it became when it was finished').nullable().describe('The source it became; null: it is not finished'),
  createdAt: Moment('When it was begun'),
  expiresAt: Moment('When it is removed, with all that came: a day after its last part, or after it was finished'),
}).meta({id: 'Upload', description: 'A file that is sent in parts'})

export const UploadAnswer = Answer({upload: Upload})
