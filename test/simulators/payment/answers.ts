import type {Refusal} from './refusals.ts'

export type Answer = {status: number; body?: unknown; text?: string; type?: string; headers?: Record<string, string>}

export const ok = (body: unknown): Answer => ({status: 200, body})
export const html = (text: string, status = 200): Answer => ({status, text, type: 'text/html; charset=utf-8'})
export const seeOther = (location: string): Answer => ({status: 303, text: '', headers: {location}})

export const refused = (refusal: Refusal): Answer => ({status: refusal.status, body: {error: refusal.error}})

export const failed = (status: number, requestId: string): Answer => ({
  status,
  body: {error: {type: 'api_error', message: `An unknown error occurred. (Request ${requestId})`}},
})
