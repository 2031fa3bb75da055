"""Surveys that hide each answer before it is sent: randomized response with estimates, cards and a page for the respondent."""

from sordino.survey.questionnaire import Questionnaire
from sordino.survey.response import RandomizedResponse, Shares

__all__ = ["Questionnaire", "RandomizedResponse", "Shares"]
