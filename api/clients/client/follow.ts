import {followRun as followEvents, type RunEvent, usualFollowMs} from '../follow-run.ts'
import type {Client} from '../http.ts'
import {isPermanent} from '../retry.ts'

export type FollowRunInput = {org: string /** `id`: the import. */; id: string; run: string}

/**
 * Yields the events of a run until its end. After a lost connection, it continues after the last received event. Throws after five minutes without a
 * successful response, and at once if the first request meets an unknown host, a certificate error or another server.
 */
export const followRun = (
  client: Client,
  {org, id, run}: FollowRunInput,
  options: {signal?: AbortSignal} = {},
): AsyncGenerator<RunEvent> => {
  const path = `/orgs/${encodeURIComponent(org)}/imports/${encodeURIComponent(id)}/runs/${encodeURIComponent(run)}`
  return followEvents({client, path, patienceMs: usualFollowMs, isPermanent, ...(options.signal && {signal: options.signal})})
}
