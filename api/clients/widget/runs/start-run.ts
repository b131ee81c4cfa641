import {embed} from '../state/embed.ts'
import {client, inOrg} from '../state/session.ts'

/** Starts a run that writes, with the usual guard. An embed token may not choose the guard. Returns the id of the run. */
export const startRun = async (importId: string, body: object): Promise<string> => {
  const guard = embed.value ? {} : {guard: 'usual'}
  const {run} = await client.post<{run: {id: string}}>(inOrg(`/imports/${importId}/runs`), {...body, ...guard})
  return run.id
}
