import {followRun as followEvents, type RunEvent} from '../follow-run.ts'
import type {Client} from '../http.ts'

export type FollowRunInput = {org: string /** `id`: the import. */; id: string; run: string}

/** Yields the events of a run until its end. After a lost connection, it continues after the last received event. */
export const followRun = (
  client: Client,
  {org, id, run}: FollowRunInput,
  options: {signal?: AbortSignal} = {},
): AsyncGenerator<RunEvent> => {
  const path = `/orgs/${encodeURIComponent(org)}/imports/${encodeURIComponent(id)}/runs/${encodeURIComponent(run)}`
  return followEvents({client, path, ...(options.signal && {signal: options.signal})})
}
