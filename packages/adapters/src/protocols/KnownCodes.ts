/**
 * The error codes that providers document. Only these codes are passed to the client and to the log: a server may write any text into the
 * field of the code, even a key.
 */
const openAiFamily = `
  account_deactivated array_above_max_length authentication authentication_error bad_request billing_hard_limit_reached billing_not_active
  bio_policy capacity_exhausted content_filter content_policy_violation context_length_exceeded country_not_supported deadline_exceeded
  engine_overloaded error failed_generation failed_to_download_image image_content_policy_violation image_parse_error image_too_large
  insufficient_permissions insufficient_quota integer_above_max_value integer_below_min_value internal_error internal_server_error
  invalid_api_key invalid_authentication invalid_base64_image invalid_function_parameters invalid_image invalid_image_format
  invalid_image_url invalid_json invalid_organization invalid_prompt invalid_request invalid_request_error invalid_type invalid_value
  json_validate_failed max_tokens_exceeded misalignment_policy_violation missing_required_parameter model_deprecated
  model_not_available model_not_found model_terms_required no_endpoints not_found not_found_error overloaded overloaded_error
  payload_too_large payment_required permission_denied permission_error provider_overloaded provider_unavailable rate_limit
  rate_limit_error rate_limit_exceeded refusal requests server server_error service_unavailable string_above_max_length
  temporarily_unavailable timeout tokens tool_use_failed unknown_parameter unknown_url unprocessable_entity
  unsupported_country_region_territory unsupported_parameter unsupported_value vector_store_timeout`

const anthropic = `
  api_error billing_error conflict_error enforced_spend_limit_reached request_too_large timeout_error`

const google = `
  ABORTED ALREADY_EXISTS API_KEY_EXPIRED API_KEY_INVALID BILLING_DISABLED BLOCKED_REASON_UNSPECIFIED BLOCKLIST CANCELLED DATA_LOSS
  DEADLINE_EXCEEDED FAILED_PRECONDITION IMAGE_SAFETY INTERNAL INVALID_ARGUMENT JAILBREAK MODEL_ARMOR NOT_FOUND OTHER OUT_OF_RANGE
  PERMISSION_DENIED PROHIBITED_CONTENT RECITATION RESOURCE_EXHAUSTED SAFETY SPII UNAUTHENTICATED UNAVAILABLE UNIMPLEMENTED UNKNOWN`

const voices = `
  quota_exceeded too_many_concurrent_requests system_busy voice_not_found model_can_not_do_text_to_speech invalid_content INVALID_AUTH
  INSUFFICIENT_PERMISSIONS TOO_MANY_REQUESTS ASR_PAYMENT_REQUIRED PAYLOAD_ERROR`

const knownCodes: ReadonlySet<string> = new Set(`${openAiFamily}${anthropic}${google}${voices}`.trim().split(/\s+/u))

/** Whether the word is a documented error code or an HTTP status. */
export const isKnownCode = (word: string): boolean => knownCodes.has(word) || /^[1-5]\d\d$/u.test(word)
