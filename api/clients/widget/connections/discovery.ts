import type {Job} from '../../follow-job.ts'
import {ApiError, type Json} from '../../http.ts'
import {untilDone} from '../state/jobs.ts'
import {client, inOrg} from '../state/session.ts'

export type Discovery = {
  id: string
  createdAt: string
  seenAt: string
  modules: {apiName: string; label?: string; unread?: {message: string}; [more: string]: Json}[]
  diff: Json
}

/** Starts a discovery and returns its job, which takes seconds to minutes. */
export const startDiscovery = async (connectorId: string): Promise<Job> =>
  (await client.post<Json>(inOrg('/discovery/run'), {connectorId})).job

export const runDiscovery = async (connectorId: string, following: Parameters<typeof untilDone>[1] = {}): Promise<void> =>
  untilDone((await startDiscovery(connectorId)).id, following)

/** Returns the latest discovery of the connection, or null if there is none. */
export const readDiscovery = async (connector: string, signal?: AbortSignal): Promise<Discovery | null> => {
  try {
    return (await client.get<Json>(inOrg('/discovery/latest'), {connector}, signal)).discovery
  } catch (error) {
    if (error instanceof ApiError && error.code === 'NO_DISCOVERY') return null
    throw error
  }
}
