import type {Session} from './session.ts'

/** Deletes an import that no command needs any more. A failure is ignored, because the server later deletes the import's files. */
export const dropImport = async ({client, path}: Session, id: string): Promise<void> => {
  await client.delete(path(`imports/${id}`)).catch(() => {})
}
