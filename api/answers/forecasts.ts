import {z} from 'zod'
import {Forecast} from '../../shared/runs/forecast/forecast.ts'
import {Answer, JobWith, Moment} from './common.ts'

const ForecastAnswer = Forecast.meta({id: 'Forecast', description: 'What a run of the import would cost at the CRM'})

export const QueuedForecast = Answer({job: JobWith(ForecastAnswer).describe('The job of the forecast')})

export const LastForecast = Answer({
  forecast: ForecastAnswer.nullable().describe('The last forecast. Null: none was made'),
  madeAt: Moment('When it was made').nullable().describe('When it was made. Null: none was'),
  stale: z.boolean().nullable().describe("Whether files, flows, settings, answers or the CRM's fields changed since. Null: none was made"),
})
