import type {RunEvent} from '../follow-run.ts'
import {ApiError, type Client, type Json} from '../http.ts'
import {openRetryingClient} from '../retry.ts'
import {bindOperations, type Lists, type OperationRow, type Operations, type OperationTypes} from './bind-operations.ts'
import {type FollowRunInput, followRun} from './follow.ts'
import {type UploadFileInput, type UploadOptions, uploadFile} from './upload-file.ts'

/** The client of an API whose operations have the types `T`. */
export type ApiClient<T extends Record<keyof T, OperationTypes>> = Operations<T> & {
  /** Paged lists as iterators over all items. */
  each: Lists<T>
  /** Yields the events of a run until its end. */
  followRun(input: FollowRunInput, options?: {signal?: AbortSignal}): AsyncGenerator<RunEvent>
  /** Uploads a file in parts. To resume an interrupted upload, set `upload` to the id that `onStarted` got. */
  uploadFile(input: UploadFileInput, options?: UploadOptions): Promise<Json>
  /** The HTTP client that the operations use. It can also call paths that this release does not know. */
  http: Client
}

/** `token`: a session or an API token, or a function that returns the current one. */
export type OpenClientInput = {server: string; token: string | (() => string | null)}

/** Returns a function that opens a client for the given operations. Rate limits and failed reads are retried, after `Retry-After` if given. */
export const prepareClient =
  <T extends Record<keyof T, OperationTypes>>(rows: Readonly<Record<keyof T & string, OperationRow>>) =>
  ({server, token}: OpenClientInput): ApiClient<T> => {
    const http = openRetryingClient(server.replace(/\/+$/, ''), typeof token === 'function' ? token : () => token)
    return {
      ...bindOperations<T>(http, rows),
      followRun: (input: FollowRunInput, options?: {signal?: AbortSignal}) => followRun(http, input, options),
      uploadFile: (input: UploadFileInput, options?: UploadOptions) => uploadFile(http, input, options),
      http,
    }
  }

/** Whether the error is a refusal of the API. If codes are given, the refusal must have one of them. */
export const hasCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof ApiError && (codes.length === 0 || codes.includes(error.code))
